import { check, same, test } from "./harness.js";
import { Log, anyLog } from "./logs.js";
import { randomly } from "./harness.js";
import { fold, initialState, reduce } from "../../../paca/web/static/paca/conversation/reduce.js";
import { isBusy, newCache, queue, rows } from "../../../paca/web/static/paca/conversation/row-selectors.js";
import { emptyHistory, historyReducer } from "../../../paca/web/static/paca/conversation/history.js";

const state = (log) => fold(initialState(), log.frames);
const kinds = (log) => rows(state(log)).map((row) => row.kind);

test("rows of any log have unique keys", () => {
  for (let seed = 1; seed <= 80; seed += 1) {
    const keys = rows(fold(initialState(), anyLog(randomly(seed)))).map((row) => row.key);
    same(new Set(keys).size, keys.length, `seed ${seed}`);
  }
});

test("unchanged rows are the same objects, so they are not rendered again", () => {
  const log = new Log().message("Hi").begin().say("One");
  const cache = newCache();
  const first = state(log);
  const before = rows(first, cache);
  const known = log.frames.length;
  log.say("Two");
  const after = rows(fold(first, log.frames.slice(known)), cache);
  check(after[0] === before[0]);
  check(after.length > before.length);
});

test("agent head is shown once before its messages, and again after a person's", () => {
  const log = new Log().message("Hi").begin().say("One").say("Two").finish();
  log.message("More").begin().say("Three");
  const heads = rows(state(log)).filter((row) => row.kind === "said").map((row) => row.head);
  same(heads, [true, false, true]);
});

test("finished reads fold into one line when another row follows", () => {
  const log = new Log().message("Hi").begin();
  log.use("read_file", {}, {}, { effect: "read_only" }).use("read_file", {}, {}, { effect: "read_only" });
  same(kinds(log).filter((kind) => kind === "tool").length, 2);
  log.say("Read.");
  same(kinds(log).filter((kind) => ["tool", "group"].includes(kind)), ["group"]);
});

test("failed reads are never folded", () => {
  const log = new Log().message("Hi").begin();
  log.use("read_file", {}, { failed: true }, { effect: "read_only" }).use("read_file", {}, {}, { effect: "read_only" }).say("So.");
  same(kinds(log).filter((kind) => ["tool", "group"].includes(kind)), ["tool", "tool"]);
});

test("activity row is shown while the agent works and no other row shows progress", () => {
  const log = new Log().message("Hi");
  log.add("conversation.queued", { trigger: "chat_message" });
  const last = () => rows(state(log)).at(-1);
  same(last().activity, "Waiting for a worker");
  log.start();
  same([last().kind, last().activity], ["now", "Thinking"]);
  check(last().since);
  log.add("sandbox.starting", { backend: "bubblewrap" });
  same(last().activity, "Starting the sandbox");
  log.finish();
  check(last().kind !== "now");
});

test("failed sandbox start ends the activity of starting", () => {
  const log = new Log().message("Hi").begin();
  log.add("sandbox.starting", { backend: "docker" });
  log.use("bash", { command: "ls" }, { failed: true, cause: "refused" });
  same(rows(state(log)).at(-1).activity, "Thinking");
  log.add("sandbox.starting", { backend: "docker" });
  log.finish("failed", "sandbox_error").begin();
  same(rows(state(log)).at(-1).activity, "Thinking");
});

test("continue buttons are offered at the last stop only", () => {
  const log = new Log().message("Hi").begin().finish("paused", "step_limit").begin().finish("paused", "step_limit");
  same(rows(state(log)).filter((row) => row.kind === "note").map((row) => row.current), [false, true]);
  log.begin();
  same(rows(state(log)).filter((row) => row.current), []);
});

test("message sent while the agent works waits above the composer", () => {
  const sent = { act: "send", client_id: "c", text: "Hey", on_busy: "queue", at: "" };
  const busy = reduce(state(new Log().message("Hi").begin()), sent);
  same([isBusy(busy), queue(busy).length, rows(busy).filter((row) => row.kind === "pending").length], [true, 1, 0]);
  const idle = reduce(state(new Log().message("Hi").begin().finish()), sent);
  same([queue(idle).length, rows(idle).filter((row) => row.kind === "pending").length], [0, 1]);
});

test("older pages added before the newest give the state of the whole log", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const log = anyLog(randomly(seed)).filter((frame) => frame.seq !== null);
    const cut = Math.max(1, Math.floor(log.length / 2));
    let history = historyReducer(emptyHistory({ status: "finished" }), { act: "newest", frames: log.slice(cut) });
    history = historyReducer(history, { act: "older", frames: log.slice(0, cut) });
    same(history.run.order, fold(initialState(), log).order, `seed ${seed}`);
    same(history.frames.map((frame) => frame.seq), log.map((frame) => frame.seq));
  }
});

test("kept frames are those applied, once each, in order", () => {
  const log = new Log().message("Hi").begin().say("One").finish().frames.filter((frame) => frame.seq);
  const [first, second, ...rest] = log;
  let history = historyReducer(emptyHistory({}), { act: "newest", frames: [first] });
  for (const frame of [...rest, first, second, ...rest]) history = historyReducer(history, frame);
  same(history.frames.map((frame) => frame.seq), log.map((frame) => frame.seq));
});
