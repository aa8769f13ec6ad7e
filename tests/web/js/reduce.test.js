import { check, randomly, same, test } from "./harness.js";
import { Log, anyLog, usage } from "./logs.js";
import { eventHandlers } from "../../../paca/web/static/paca/conversation/event-handlers.js";
import { emptyHistory, historyReducer } from "../../../paca/web/static/paca/conversation/history.js";
import { fold, hasGap, initialState, reduce, withOlder } from "../../../paca/web/static/paca/conversation/reduce.js";

const after = (frames, state = initialState()) => fold(state, frames);
const durable = (frames) => frames.filter((frame) => frame.seq !== null);
const texts = (state) => state.order.map((key) => state.entries.get(key)).filter((e) => e.text).map((e) => e.text);

function shuffled(list, random) {
  const copy = [...list];
  for (let index = copy.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [copy[index], copy[other]] = [copy[other], copy[index]];
  }
  return copy;
}

function inCuts(frames, random) {
  let state = initialState();
  for (let index = 0; index < frames.length; ) {
    const size = 1 + Math.floor(random() * 7);
    state = fold(state, frames.slice(index, index + size));
    index += size;
  }
  return state;
}

test("state is the same for any order, grouping and repeats of frames", () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = randomly(seed);
    const log = anyLog(random);
    const whole = after(log);
    const rows = durable(log);
    const prefix = rows.slice(0, Math.floor(random() * rows.length));
    same(inCuts(log, random), whole, `cuts, seed ${seed}`);
    same(after([...prefix, ...rows]), after(rows), `a prefix twice, seed ${seed}`);
    same(after(rows.flatMap((row) => [row, row])), after(rows), `each twice, seed ${seed}`);
    same(after(shuffled([...rows, ...prefix], random)), after(rows), `any order, seed ${seed}`);
  }
});

test("live frames leave no trace in the state of a complete log", () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const log = anyLog(randomly(seed));
    same(after(log), after(durable(log)), `seed ${seed}`);
  }
});

test("state objects are never changed, only replaced", () => {
  const log = anyLog(randomly(7));
  let state = initialState();
  for (const frame of log) {
    const before = JSON.stringify([[...state.entries], state.order, [...state.live], state.usage]);
    const next = reduce(state, frame);
    same(JSON.stringify([[...state.entries], state.order, [...state.live], state.usage]), before);
    state = next;
  }
});

test("frames that come early wait for the ones before them", () => {
  const frames = durable(new Log().message("Hello").begin().say("Hi").frames);
  const early = after([frames[0], frames[3]]);
  check(hasGap(early));
  same(early.seq, 1);
  const filled = after([frames[1], frames[2]], early);
  check(!hasGap(filled));
  same(filled.seq, 4);
});

test("state of a page in the middle of a log starts at its first frame", () => {
  const frames = durable(new Log().message("Hello").begin().say("Hi").finish().frames);
  const window = frames.slice(3);
  const state = fold(initialState({ status: "finished" }, window[0].seq - 1), window);
  same(state.seq, frames.at(-1).seq);
  same(texts(state), ["Hi"]);
});

test("event handlers cover the catalogue", async () => {
  const types = Object.keys(await catalogue());
  check(types.length > 20);
  for (const type of types) check(eventHandlers.has(type), `${type} has no handler`);
  same([...eventHandlers.keys()].filter((type) => !types.includes(type)), []);
});

async function catalogue() {
  const url = new URL("../../../paca/web/static/paca/events.json", import.meta.url);
  if (url.protocol !== "file:") return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

test("unknown event types are shown as they are", () => {
  const state = after([{ type: "agent.moon.risen", seq: 1, at: "2026-01-05T09:00:00Z", data: { phase: "full" } }]);
  const entry = state.entries.get(state.order[0]);
  same([entry.kind, entry.type, entry.data], ["unknown", "agent.moon.risen", { phase: "full" }]);
});

test("streamed text becomes the stored message in the same place", () => {
  const log = new Log().message("Hello").begin();
  log.stream("text.streamed", "model-1", "Half of", 2);
  const during = after(log.frames);
  same(during.live.get("said:model-1").text, "Half of");
  const done = after(new Log().message("Hello").begin().say("Half of it.", { pieces: 3 }).frames);
  check(done.entries.has("said:model-1"));
  same(done.live.size, 0);
});

test("a late piece of a finished message changes nothing", () => {
  const log = new Log().message("Hello").begin().say("All of it.", { pieces: 2 });
  const before = after(log.frames);
  const late = { type: "agent.text.streamed", seq: null, data: { call_id: "model-1", offset: 0, text: "All" } };
  check(reduce(before, late) === before);
});

test("discarded attempt loses its live text and keeps its stored text", () => {
  const log = new Log().message("Hello").begin();
  log.stream("text.streamed", "m", "Half an", 1);
  log.add("message.discarded", { call_id: "m", cause: "cancelled", text: "Half an" });
  const state = after(log.frames);
  same(state.live.size, 0);
  same(state.entries.get(state.order.at(-1)).kind, "discarded");
});

test("message waits in the queue until a model call has seen it", () => {
  const log = new Log().message("First").begin();
  log.message("Also this");
  const waiting = after(log.frames);
  same(waiting.queue.length, 1);
  log.say("Answer to the first", { seen: 1 });
  same(after(log.frames).queue.length, 1);
  log.say("Answer to both", { seen: log.seq });
  const state = after(log.frames);
  same(state.queue, []);
  same(texts(state), ["First", "Answer to the first", "Also this", "Answer to both"]);
});

test("queued message can be changed and taken back until the agent reads it", () => {
  const log = new Log().message("Hi").begin().message("Queued", { on_busy: "queue" });
  const seq = log.seq;
  log.add("message.edited", { event_seq: seq, text: "Changed", by: "Ada Okafor" }, "user");
  const edited = after(log.frames);
  same(edited.queue.map((key) => edited.entries.get(key).text), ["Changed"]);
  log.add("message.withdrawn", { event_seq: seq, by: "Ada Okafor" }, "user");
  const withdrawn = after(log.frames);
  same([withdrawn.queue, texts(withdrawn)], [[], ["Hi"]]);
  same(after(log.say("Done").frames).order.includes(`message:${seq}`), false);
});

test("unread message at the end of a turn opens the next one", () => {
  const log = new Log().message("First").begin();
  log.message("Interrupting", { on_busy: "interrupt" });
  log.add("conversation.interrupted", { by: "Ada" }).finish("stopped", "interrupted");
  const state = after(log.frames);
  same(state.queue, []);
  same(texts(state).at(-1), "Interrupting");
});

test("unfinished calls are stopped with their turn", () => {
  const log = new Log().message("Run it").begin();
  const id = log.call("bash", { command: "sleep 100" });
  log.add("tool.started", { call_id: id }).finish("stopped", "by_person");
  same(after(log.frames).entries.get(`tool:${id}`).state, "stopped");
});

test("retry notice covers all attempts and ends with the answer", () => {
  const log = new Log().message("Hello").begin();
  log.add("model.retried", { call_id: "a", attempt: 1, wait_seconds: 1, cause: "529, overloaded" });
  log.add("model.retried", { call_id: "b", attempt: 2, wait_seconds: 2, cause: "529, overloaded" });
  const waiting = after(log.frames);
  const key = waiting.retry;
  same([waiting.entries.get(key).attempt, waiting.order.filter((k) => k.startsWith("retry")).length], [2, 1]);
  log.say("At last", { attempt: 3 });
  const state = after(log.frames);
  same([state.retry, state.entries.get(key).over, state.entries.get(key).answered], [null, true, 3]);
});

test("sent message is pending until its event comes, and a refusal returns its text", () => {
  let state = after(new Log().message("First").begin().frames);
  state = reduce(state, { act: "send", client_id: "c1", text: "Second", on_busy: "queue", at: "" });
  same(state.pending.size, 1);
  const refused = reduce(state, { act: "refuse", client_id: "c1", detail: "Too long." });
  same([refused.pending.size, refused.refused], [0, { text: "Second", detail: "Too long." }]);
  state = reduce(state, { act: "ack", client_id: "c1", event_seq: 99 });
  same(state.pending.size, 1);
  const stored = { type: "agent.message.received", seq: state.seq + 1, at: "", data: { text: "Second", client_id: "c1" } };
  state = reduce(state, stored);
  same([state.pending.size, state.queue.length], [0, 1]);
});

test("usage of unknown price is counted and never taken as free", () => {
  const log = new Log().message("Hi").begin();
  log.add("usage.recorded", { ...usage("m", 1), cost_usd: 0.25 });
  log.add("usage.recorded", { ...usage("n", 1), cost_usd: null });
  const { usage: total } = after(log.frames);
  same([total.calls, total.cost, total.unpriced, total.input], [2, 0.25, 1, 200]);
});

test("the to-do list is that of the newest change, also when older rows are loaded", () => {
  const items = (state) => [{ text: "Look", state }];
  const log = new Log().begin().add("todo.changed", { items: items("now"), since: "2026-01-05T09:00:00Z" })
    .add("todo.changed", { items: items("done"), since: "" });
  same(after(log.frames).todo, { items: items("done"), since: "" });
  const known = { last_seq: log.seq, todo: { items: items("open"), since: "" } };
  same(fold(initialState(known), log.frames).todo, known.todo, "the server knows it better than older frames");
  const half = fold(initialState(known, 2), log.frames.slice(2));
  same(withOlder({ ...half, restApprovedBy: "Mei" }, log.frames).todo, known.todo);
  same(withOlder({ ...half, restApprovedBy: "Mei" }, log.frames).restApprovedBy, "Mei");
  same(after(log.add("todo.changed", { items: [], since: "" }).frames).todo, null);
});

test("a call that waits has a card until it is decided, and a line afterwards", () => {
  const ask = (log) => log.begin().add("tool.called", { call_id: "c-1", tool: "bash", arguments: { command: "rm a" }, effect: "opaque" })
    .add("approval.requested", { call_id: "c-1", tool: "bash", arguments: { command: "rm a" }, deadline: "2026-01-05T09:10:00Z" })
    .add("conversation.waiting", { reason: "approval" });
  const waiting = after(ask(new Log()).frames);
  same(waiting.status, "waiting");
  same(waiting.entries.get("ask:c-1").ask.arguments.command, "rm a");
  same(waiting.entries.get("tool:c-1").state, "waiting");
  const given = ask(new Log()).add("approval.given", { call_id: "c-1", decision: "approve_rest", by: "Mei" });
  const decided = after(given.frames);
  same(decided.status, "running");
  same(decided.order.includes("ask:c-1"), false);
  same(decided.restApprovedBy, "Mei");
  same(after(given.add("approval.revoked", { by: "Ada" }).frames).restApprovedBy, "");
  const forked = ask(new Log()).add("turn.finished", { number: 1, status: "stopped", reason: "forked" });
  same(after(forked.frames).order.includes("ask:c-1"), false);
});

test("a question and a plan have a card until they are answered, and the plan ticks", () => {
  const asked = new Log().begin().add("tool.called", { call_id: "q-1", tool: "ask_person", arguments: {} })
    .add("question.asked", { call_id: "q-1", question: "Which?", choices: [{ label: "A", description: "" }] })
    .add("conversation.waiting", { reason: "question" });
  const { kind, text, choices } = after(asked.frames).entries.get("ask:q-1").ask;
  same([kind, text, choices.length], ["question", "Which?", 1]);
  const answered = after(asked.add("question.answered", { call_id: "q-1", text: "A", by: "Mei" }).frames);
  same([answered.status, answered.order.includes("ask:q-1")], ["running", false]);

  const steps = [{ text: "Look", state: "open" }, { text: "Mend", state: "open" }];
  const log = new Log().begin().add("flags.changed", { plan: true, by: "Ada" });
  same(after(log.frames).planMode, true);
  log.add("plan.proposed", { call_id: "p-1", title: "All", steps: ["Look", "Mend"] });
  same(after(log.frames).entries.get("ask:p-1").ask.kind, "plan");
  log.add("plan.decided", { call_id: "p-1", decision: "reject", title: "All", steps });
  same([after(log.frames).planMode, after(log.frames).plan], [true, null]);
  log.add("plan.decided", { call_id: "p-2", decision: "approve", title: "All", steps });
  same([after(log.frames).planMode, after(log.frames).plan.steps.length], [false, 2]);
  log.add("plan.changed", { call_id: "s", title: "All", steps: [{ text: "Look", state: "done" }] });
  same(after(log.frames).plan.steps, [{ text: "Look", state: "done" }]);
  const known = { last_seq: log.frames.length, plan: { title: "All", steps }, plan_mode: true };
  same(fold(initialState(known), log.frames).plan, known.plan);
  same(withOlder({ ...fold(initialState(known, 2), log.frames.slice(2)) }, log.frames).planMode, true);
});

for (const flag of ["pausing", "stopping"]) {
  test(`${flag} is shown until the log tells of an end that is newer than the button was pressed`, () => {
    const log = new Log().message("Hello").begin();
    const earlier = durable(log.frames);
    const known = { status: "running", last_seq: earlier.at(-1).seq };
    let history = historyReducer(emptyHistory(known), { act: flag });
    check(history.run[flag]);
    history = historyReducer(history, { act: "newest", frames: earlier.slice(0, 1) });
    check(history.run[flag], "the first page of the log came after it was pressed");
    for (const frame of earlier.slice(1)) history = historyReducer(history, frame);
    check(history.run[flag], "an older frame told that the conversation was queued");
    history = historyReducer(history, { act: "ready", conversation: known });
    check(history.run[flag], "the socket was ready");
    const ended = log.finish().frames.filter(({ seq }) => seq > known.last_seq);
    for (const frame of ended) history = historyReducer(history, frame);
    check(!history.run[flag]);
  });

  test(`${flag} is over when the server describes the conversation as ended`, () => {
    const known = { status: "running", last_seq: 4 };
    const pressed = historyReducer(emptyHistory(known), { act: flag });
    const ended = historyReducer(pressed, { act: "ready", conversation: { status: "finished", last_seq: 7 } });
    check(!ended.run[flag]);
  });

  test(`${flag} that came too late for its turn is over when the next one begins at once`, () => {
    const log = new Log().message("Hello").begin();
    const pressed = reduce(after(durable(log.frames), initialState()), { act: flag });
    check(pressed[flag]);
    const ended = { seq: log.seq + 1, type: "agent.turn.finished", at: "2026-01-01T00:00:00Z", data: { number: 1, outcome: "finished" } };
    const begun = { seq: log.seq + 2, type: "agent.turn.started", at: "2026-01-01T00:00:00Z", data: { number: 2 } };
    const next = after([ended, begun], pressed);
    same([next.status, next[flag]], ["running", false]);
  });
}
