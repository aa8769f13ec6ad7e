import { check, randomly, same, test } from "./harness.js";
import { NEWEST, hiddenAbove, extendDown, afterGrowth, visibleRows, extendUp } from "../../../paca/web/static/paca/conversation/row-window.js";

const rows = (count) => Array.from({ length: count }, (_, index) => index);

test("a window shows a short conversation whole", () => {
  same(visibleRows(rows(30), NEWEST), rows(30));
  same(hiddenAbove(rows(30), NEWEST), 0);
});

test("a window on a long conversation starts at its end", () => {
  const found = visibleRows(rows(1000), NEWEST);
  same([found.at(-1), found.length], [999, 200]);
});

test("a window never shows more than 400 rows, and reaches both ends", () => {
  const all = rows(2060);
  let view = NEWEST;
  for (let step = 0; step < 60; step += 1) {
    view = extendUp(view, all.length);
    check(visibleRows(all, view).length <= 400);
  }
  same([visibleRows(all, view)[0], hiddenAbove(all, view)], [0, 0]);
  check(visibleRows(all, view).length >= 300);
  for (let step = 0; step < 60; step += 1) view = extendDown(view);
  same(visibleRows(all, view).at(-1), 2059);
});

test("window stays when rows are added while the reader is elsewhere", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = randomly(seed);
    let view = NEWEST;
    let all = rows(900);
    for (let step = 0; step < 6; step += 1) view = extendUp(view, all.length);
    const before = visibleRows(all, view);
    const added = Math.floor(random() * 50);
    all = rows(900 + added);
    same(visibleRows(all, afterGrowth(view, added)), before);
  }
});
