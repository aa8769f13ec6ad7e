import { check, randomly, same, test } from "./harness.js";
import { EMPTY, merge } from "../../../paca/web/static/paca/conversation/live-text.js";

test("pieces in any order, with repeats, give the text", () => {
  const text = "Ein Lama 🦙🦙 und ein Café.";
  const points = [...text];
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = randomly(seed);
    const pieces = [];
    for (let offset = 0; offset < points.length; ) {
      const size = 1 + Math.floor(random() * 5);
      pieces.push([offset, points.slice(offset, offset + size).join("")]);
      offset += size;
    }
    pieces.push([0, points.slice(0, 9).join("")]);
    const order = [...pieces, ...pieces].map((piece) => [random(), piece]).sort((a, b) => a[0] - b[0]);
    const live = order.reduce((sum, [, [offset, piece]]) => merge(sum, offset, piece), EMPTY);
    same(live.text, text, `seed ${seed}`);
    same(live.length, points.length);
  }
});

test("kept text has a limit, and its offsets go on", () => {
  let live = EMPTY;
  for (let offset = 0; offset < 1000; offset += 10) live = merge(live, offset, "0123456789", 100);
  same([live.text.length, live.length, live.start], [100, 1000, 900]);
  check(live.text.endsWith("0123456789"));
});

test("kept text never begins with half a character", () => {
  const live = merge(EMPTY, 0, "🦙".repeat(60), 99);
  same(live.text.codePointAt(0), "🦙".codePointAt(0));
});

test("output without its beginning is shown from its first known piece", () => {
  const late = merge(EMPTY, 200_000, "tail\n", 100);
  same([late.text, late.start, late.length], ["tail\n", 200_000, 200_005]);
  same(merge(late, 200_005, "more\n", 100).text, "tail\nmore\n");
});

test("output after a gap shows its newest part", () => {
  const before = merge(EMPTY, 0, "old\n", 100);
  const after = merge(before, 200_000, "new\n", 100);
  same([after.text, after.start, after.held.length], ["new\n", 200_000, 0]);
});

test("a repeat from further back adds the beginning", () => {
  const points = [..."0123456789🦙abcdef"];
  const late = merge(EMPTY, 11, points.slice(11, 14).join(""), 100);
  const whole = merge(late, 0, points.join(""), 100);
  same([whole.text, whole.start, whole.length], [points.join(""), 0, points.length]);
  same(merge(late, 0, "0123", 100), late, "what does not reach it says nothing");
});
