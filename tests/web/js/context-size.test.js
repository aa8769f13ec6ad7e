import { same, test } from "./harness.js";
import { inWords, partsInWords, percentOf, short, toneOf } from "../../../paca/web/static/paca/conversation/context-size.js";
import { fold, initialState } from "../../../paca/web/static/paca/conversation/reduce.js";
import { activityOf, noteInWords } from "../../../paca/web/static/paca/conversation/labels.js";

const parts = { system: 2000, tools: 5000, messages: 50_000, results: 25_000 };
const known = { used: 82_000, window: 200_000, parts };
const unknown = { used: 82_400, window: null, parts };
const frame = (seq, type, data) => ({ seq, type: `agent.${type}`, at: "2026-11-29T01:00:00Z", source: "system", turn: 1, data });

test("context tells how full the window is, and only the number if the window is unknown", () => {
  same(percentOf(known), 41);
  same(inWords(known), "Context: 41 %, 82,000 of 200,000 tokens");
  same([short(known), short(unknown), short({ ...unknown, used: 90 })], ["41 %", "82k", "90"]);
  same(inWords(unknown), "Context: 82,400 tokens");
  same(partsInWords(known)[3], ["Results of tools", "25,000"]);
  same([79, 80, 100, 120].map(toneOf), ["", "is-nearly-full", "is-full", "is-full"]);
});

test("context is that of the server, and of newer frames", () => {
  const before = initialState({ last_seq: 1, context: known, status: "running" }, 0);
  const old = fold(before, [frame(1, "usage.recorded", { call_id: "a", outcome: "done", context: unknown })]);
  same(old.context, known);
  const newer = fold(old, [frame(2, "usage.recorded", { call_id: "b", outcome: "done", context: unknown })]);
  same(newer.context, unknown);
  const side = fold(newer, [frame(3, "usage.recorded", { call_id: "c", outcome: "done", purpose: "compaction", context: null })]);
  same(side.context, unknown);
});

test("page says that a summary is being made, until it is", () => {
  const running = initialState({ last_seq: 0, status: "running" }, 0);
  const making = fold(running, [frame(1, "context.compacting", { part: 2, parts: 3 })]);
  same(activityOf(making, ""), "Summarising what came before: part 2 of 3");
  const facts = { summary: "Notes.", carried: "", model: "m", upto_seq: 1, tokens_before: 148_000, tokens_after: 21_000, context: known };
  const made = fold(making, [frame(2, "context.compacted", facts)]);
  same(activityOf(made, ""), "Waiting for the model");
  same(made.context, known);
  same(noteInWords(made.entries.get("note:2"), { agent: "Rosa" }).fact, "Summary of what came before · 148,000 to 21,000 tokens");
});
