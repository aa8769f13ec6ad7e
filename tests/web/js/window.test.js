import { check, randomly, same, test } from "./harness.js";
import { NEWEST, above, down, grown, shown, up } from "../../../paca/web/static/paca/conversation/window.js";

const rows = (count) => Array.from({ length: count }, (_, index) => index);

test("a short flow is shown whole", () => {
  same(shown(rows(30), NEWEST), rows(30));
  same(above(rows(30), NEWEST), 0);
});

test("a long flow begins at its end", () => {
  const found = shown(rows(1000), NEWEST);
  same([found.at(-1), found.length], [999, 200]);
});

test("going up and down never shows more than the most, and reaches both ends", () => {
  const all = rows(2060);
  let view = NEWEST;
  for (let step = 0; step < 60; step += 1) {
    view = up(view, all.length);
    check(shown(all, view).length <= 400);
  }
  same([shown(all, view)[0], above(all, view)], [0, 0]);
  check(shown(all, view).length >= 300);
  for (let step = 0; step < 60; step += 1) view = down(view);
  same(shown(all, view).at(-1), 2059);
});

test("rows that come while the reader is elsewhere move nothing", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = randomly(seed);
    let view = NEWEST;
    let all = rows(900);
    for (let step = 0; step < 6; step += 1) view = up(view, all.length);
    const before = shown(all, view);
    const added = Math.floor(random() * 50);
    all = rows(900 + added);
    same(shown(all, grown(view, added)), before);
  }
});
