import { check, same, test } from "./harness.js";
import { Log, anyLog } from "./logs.js";
import { randomly } from "./harness.js";
import { fold, initialState, reduce } from "../../../paca/web/static/paca/conversation/reduce.js";
import { isBusy, newCache, queue, rows } from "../../../paca/web/static/paca/conversation/row-selectors.js";
import { noteInWords } from "../../../paca/web/static/paca/conversation/labels.js";
import { costInWords, tokens } from "../../../paca/web/static/paca/conversation/usage.js";
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
  same([last().kind, last().activity], ["now", "Waiting for the model"]);
  check(last().since);
  log.add("sandbox.starting", { backend: "bubblewrap" });
  same(last().activity, "Starting the sandbox");
  log.finish();
  check(last().kind !== "now");
});

test("slow start of a sandbox tells its phase and since when it starts", () => {
  const log = new Log().message("Hi").begin();
  log.call("bash", { command: "ls" });
  log.add("sandbox.progressed", { phase: "check", seconds: 2 });
  const now = () => rows(state(log)).at(-1);
  same(now().activity, "Starting the sandbox: asking the backend");
  const began = now().since;
  same(Date.parse(log.frames.at(-1).at) - Date.parse(began), 2000);
  log.add("sandbox.starting", { backend: "docker" }).add("sandbox.progressed", { phase: "create", seconds: 30 });
  same(now().activity, "Starting the sandbox: creating it");
  log.add("sandbox.started", { backend: "docker", boot_id: "b", seconds: 39, phases: { check: 30, create: 9, start: 0.2 } });
  check(now().activity !== "Starting the sandbox");
  same(noteInWords(rows(state(log)).find(({ kind }) => kind === "note").entry, {}).fact,
    "Sandbox ready: asking the backend 30 s, creating it 9 s");
});

test("failed sandbox start ends the activity of starting", () => {
  const log = new Log().message("Hi").begin();
  log.add("sandbox.starting", { backend: "docker" });
  log.use("bash", { command: "ls" }, { failed: true, cause: "refused" });
  same(rows(state(log)).at(-1).activity, "Waiting for the model");
  log.add("sandbox.starting", { backend: "docker" });
  log.finish("failed", "sandbox_error").begin();
  same(rows(state(log)).at(-1).activity, "Waiting for the model");
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

/** A run of many steps, its newest page, and the conversation as the server describes it then. */
function longRun(steps) {
  const log = new Log().message("Hi").begin();
  const since = log.frames.at(-1).at;
  for (let step = 0; step < steps; step += 1) log.say(`Step ${step}`);
  const usage = { input: 100 * steps, output: 20 * steps, cache_read: 0, cache_write: 0, cost_usd: null, unpriced_calls: 1, priced_cost_usd: 0.5 };
  const known = { status: "running", title: "Long", last_seq: log.seq, started_at: since, usage };
  return { log, known, turn: { number: 1, started_at: since }, newest: log.frames.slice(-50) };
}

test("state, tokens, cost and time are those of the whole conversation, whatever part is loaded", () => {
  const { log, known, turn, newest } = longRun(190);
  const facts = ({ run }) => [run.status, run.title, tokens(run.usage), costInWords(run.usage), run.turn.at];
  const wanted = ["running", "Long", 120 * 190, "$0.50 and unpriced calls", known.started_at];
  let history = historyReducer(emptyHistory(known, turn), { act: "newest", frames: newest });
  same(facts(history), wanted, "after a reload");
  const older = log.frames.slice(-150, -50);
  history = historyReducer(history, { act: "older", frames: older });
  same(facts(history), wanted, "scrolled up");
  history = historyReducer(history, { act: "older", frames: log.frames.slice(0, -150) });
  same(facts(history), wanted, "scrolled to the first step");
  const [call] = new Log().say("One more").frames.filter(({ type }) => type === "agent.usage.recorded");
  history = historyReducer(history, { ...call, seq: log.seq + 1 });
  same(tokens(history.run.usage), 120 * 191, "one more call");
});

test("description that is newer than the loaded frames counts, and an older one does not", () => {
  const { log, known, turn, newest } = longRun(60);
  let history = historyReducer(emptyHistory(known, turn), { act: "newest", frames: newest });
  const late = { act: "ready", conversation: { ...known, status: "paused", reason: "stuck", last_seq: log.seq + 2 } };
  history = historyReducer(history, late);
  same([history.run.status, history.run.reason], ["paused", "stuck"]);
  history = historyReducer(history, { act: "ready", conversation: { ...known, status: "running", last_seq: 5 } });
  same(history.run.status, "paused");
});

test("end of a turn tells its time and usage, also if only its last steps are loaded", () => {
  const { log, known, turn } = longRun(190);
  const usage = { input: 19_000, output: 3_800, cache_read: 7, cache_write: 0, cost_usd: 0.25, calls: 190 };
  log.add("turn.finished", { number: 1, status: "finished", reason: "answered", steps: 190, seconds: 61.5, usage });
  const newest = log.frames.slice(-50);
  const { run } = historyReducer(emptyHistory(known, turn), { act: "newest", frames: newest });
  const { seconds, usage: told } = run.entries.get("turn:1");
  same([seconds, tokens(told), costInWords(told)], [61.5, 22_807, "$0.25"]);
});

test("cause of waiting is told while a conversation is queued", () => {
  const queued = (waits_for) => rows(initialState({ status: "queued", waits_for })).at(-1).activity;
  same(queued("agent_paused"), "Waiting: the agent is paused");
  same(queued("agent_busy"), "Waiting: the agent works on as many conversations as it may");
  same(queued("worker"), "Waiting for a worker");
});

test("kept frames are those applied, once each, in order", () => {
  const log = new Log().message("Hi").begin().say("One").finish().frames.filter((frame) => frame.seq);
  const [first, second, ...rest] = log;
  let history = historyReducer(emptyHistory({}), { act: "newest", frames: [first] });
  for (const frame of [...rest, first, second, ...rest]) history = historyReducer(history, frame);
  same(history.frames.map((frame) => frame.seq), log.map((frame) => frame.seq));
});
