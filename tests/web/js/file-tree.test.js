import { check, same, test } from "./harness.js";
import { PAGE, ROOT, Tree } from "../../../paca/web/static/paca/files/tree.js";

const file = (name) => ({ name, kind: "file", size: 1 });
const folder = (name) => ({ name, kind: "folder", size: 0 });

function page(entries, total = entries.length, modified = 1) {
  return { entries, total, modified, cut: false };
}

function names(count, from = 0) {
  return Array.from({ length: count }, (_, index) => file(`f${String(from + index).padStart(5, "0")}`));
}

test("a tree has a row for each entry of a large folder, and knows which are not loaded", () => {
  const tree = new Tree();
  tree.put(ROOT, 0, page(names(PAGE), 10_000));
  same(tree.rows.length, 10_000);
  same([tree.rows[PAGE - 1].name, tree.rows[PAGE].missing, tree.rows[PAGE].of], ["f00999", true, 10_000]);
  same([tree.isMissing(ROOT, 0, PAGE), tree.isMissing(ROOT, PAGE, 1)], [false, true]);
  tree.put(ROOT, 9000, page(names(PAGE, 9000), 10_000));
  same([tree.rows.at(-1).name, tree.rows[8999].missing], ["f09999", true]);
});

test("a page of a folder that has changed since replaces what was loaded before", () => {
  const tree = new Tree();
  tree.put(ROOT, 0, page(names(PAGE), 2000));
  tree.put(ROOT, PAGE, page(names(PAGE, PAGE), 2000, 2));
  check(tree.rows[0].missing);
  same(tree.rows[PAGE].name, "f01000");
});

test("a folder that became shorter than a page in sight shows what is left", () => {
  const tree = new Tree();
  tree.put(ROOT, 0, page(names(PAGE), 3000));
  tree.replace(ROOT, [[2000, page([], 5, 2)]]);
  same([tree.rows.length, tree.isMissing(ROOT, 0, PAGE)], [5, true]);
});

test("the row at which the keyboard waits gets its path when its page is loaded", () => {
  const tree = new Tree();
  tree.put(ROOT, 0, page([folder("many")]));
  tree.toggle("many", true);
  tree.put("many", 0, page(names(PAGE), 2000));
  const last = tree.rows.at(-1);
  same(tree.resolved(last.path), last.path);
  tree.put("many", PAGE, page(names(PAGE, PAGE), 2000));
  same([tree.resolved(last.path), tree.resolved("many/f00001")], ["many/f01999", "many/f00001"]);
});

test("an open folder shows its rows after its own, or a note", () => {
  const tree = new Tree();
  tree.put(ROOT, 0, page([folder("a"), file("b")]));
  tree.toggle("a", true);
  same(tree.rows.map(({ note, path }) => note ?? path), ["a", "Loading…", "b"]);
  tree.fail("a", "Gone.");
  same(tree.rows.map(({ note, path }) => note ?? path), ["a", "Gone.", "b"]);
  tree.replace("a", [[0, page([])]]);
  same(tree.rows.map(({ note, path }) => note ?? path), ["a", "Empty", "b"]);
  tree.replace("a", [[0, page([file("c")])]]);
  same(tree.rows.map(({ path, level }) => [path, level]), [["a", 1], ["a/c", 2], ["b", 1]]);
});
