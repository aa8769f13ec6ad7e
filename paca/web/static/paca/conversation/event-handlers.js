// The handlers of events: one for each type, which changes the state. A test compares them with events.json.

import { merge, EMPTY } from "./live-text.js";
import { writable } from "./copy-on-write.js";
import { secondsBetween } from "../core/time.js";
import { emptyUsage, addUsage, usageFrom } from "./usage.js";

const BUSY = new Set(["running", "waiting"]);
const ACTIVE = new Set(["queued", ...BUSY]);
const MAX_LIVE_OUTPUT = 64_000; // characters of live output; the result has all of it

// --- entries --------------------------------------------------------------------------------------

function addEntry(draft, key, entry) {
  if (!draft.entries.has(key)) writable(draft, "order").push(key);
  writable(draft, "entries").set(key, { key, ...entry });
}

function changeEntry(draft, key, facts) {
  const entry = draft.entries.get(key);
  if (entry) writable(draft, "entries").set(key, { ...entry, ...facts });
  return Boolean(entry);
}

/** Add a line or notice that does not change any more. */
function addNote(draft, frame, data) {
  addEntry(draft, `note:${frame.seq}`, { kind: "note", type: frame.type, data, ...metadata(frame) });
}

const metadata = ({ seq, at, source, turn }) => ({ seq, at, source, turn });

// --- status ---------------------------------------------------------------------------------------

/** Whether the frame is newer than the facts of the whole conversation. */
const isNews = (draft, frame) => frame.seq > draft.known;

function setStatus(draft, frame, status, { reason = "", detail = "" } = {}) {
  draft.logStatus = status;
  if (isNews(draft, frame)) Object.assign(draft, { status, reason, detail, since: frame.at, waitsFor: "" });
  if (frame.seq > draft.pressedAt) endCommands(draft, status);
  if (BUSY.has(status)) return;
  draft.sandbox = draft.compacting = null;
  if (status === "queued") return;
  writable(draft, "live").clear();
  endRetry(draft, {});
  moveReadMessages(draft, Infinity);
}

/** End Stop and Pause if this status, which came after them, is not active. */
export function endCommands(draft, status) {
  if (!ACTIVE.has(status)) draft.stopping = draft.pausing = false;
}

function endRetry(draft, facts) {
  if (draft.retry) changeEntry(draft, draft.retry, { over: true, ...facts });
  draft.retry = null;
}

/** Mark calls without an outcome as stopped: their turn has ended. Nobody is asked any more. */
function closeCalls(draft) {
  for (let index = draft.order.length - 1; index >= 0; index -= 1) {
    const entry = draft.entries.get(draft.order[index]);
    if (entry.kind === "turn") return;
    if (entry.kind === "ask") removeEntry(draft, entry.key);
    else if (entry.kind === "tool" && ["queued", "waiting", "running"].includes(entry.state)) {
      changeEntry(draft, entry.key, { state: "stopped" });
    }
  }
}

// --- messages -------------------------------------------------------------------------------------

/**
 * Move messages that the agent has read from the queue to the rows: before the reply of the model
 * call that read them, although the log stored them before that reply.
 */
function moveReadMessages(draft, upTo, call = "") {
  const taken = draft.queue.filter((key) => draft.entries.get(key).seq <= upTo);
  if (!taken.length) return;
  draft.queue = draft.queue.filter((key) => !taken.includes(key));
  draft.owned.add("queue");
  writable(draft, "order").splice(startOfReply(draft, call), 0, ...taken);
}

function startOfReply(draft, call) {
  let start = draft.order.length;
  if (!call) return start;
  for (let index = start - 1; index >= 0; index -= 1) {
    const entry = draft.entries.get(draft.order[index]);
    if (entry.kind === "turn") break;
    if (entry.modelCall === call) start = index;
  }
  return start;
}

function messageReceived(draft, frame, data) {
  writable(draft, "pending").delete(data.client_id);
  const key = `message:${frame.seq}`;
  const entry = { key, kind: "person", ...metadata(frame), ...data };
  writable(draft, "entries").set(key, entry);
  writable(draft, BUSY.has(draft.logStatus) ? "queue" : "order").push(key);
}

function messageEdited(draft, _frame, data) {
  return changeEntry(draft, `message:${data.event_seq}`, { text: data.text, edited: true });
}

function messageWithdrawn(draft, _frame, data) {
  const key = `message:${data.event_seq}`;
  if (!draft.entries.has(key)) return false;
  for (const list of ["queue", "order"]) {
    const at = draft[list].indexOf(key);
    if (at >= 0) writable(draft, list).splice(at, 1);
  }
  return writable(draft, "entries").delete(key);
}

function messageSpoken(draft, frame, data) {
  writable(draft, "live").delete(`said:${data.call_id}`);
  // A truncated answer is continued under the same call or a new one; each part is one entry.
  const key = data.call_id ? `said:${data.call_id}` : `said:${frame.seq}`;
  const free = draft.entries.has(key) ? `${key}:${frame.seq}` : key;
  addEntry(draft, free, { kind: "said", modelCall: data.call_id, ...metadata(frame), ...data });
}

function messageDiscarded(draft, frame, data) {
  writable(draft, "live").delete(`said:${data.call_id}`);
  writable(draft, "live").delete(`thought:${data.call_id}`);
  if (data.text) addEntry(draft, `discarded:${frame.seq}`, { kind: "discarded", ...metadata(frame), ...data });
}

function textStreamed(kind) {
  return (draft, frame, { call_id: call, offset, text }) => {
    const key = `${kind}:${call}`;
    if (draft.entries.has(key)) return false; // the stored text is here already
    const live = draft.live.get(key) ?? { ...EMPTY, kind, call, at: frame.at };
    writable(draft, "live").set(key, merge(live, offset, text));
    return true;
  };
}

function thoughtRecorded(draft, frame, data) {
  writable(draft, "live").delete(`thought:${data.call_id}`);
  const key = data.call_id ? `thought:${data.call_id}` : `thought:${frame.seq}`;
  const free = draft.entries.has(key) ? `${key}:${frame.seq}` : key;
  const { text, seconds, redacted } = data;
  addEntry(draft, free, {
    kind: "thought", modelCall: data.call_id, text, seconds, redacted: Boolean(redacted), ...metadata(frame),
  });
}

// --- model ----------------------------------------------------------------------------------------

// One notice covers all attempts from the first failure to the answer.
function modelRetried(draft, frame, data) {
  const key = draft.retry ?? `retry:${frame.seq}`;
  addEntry(draft, key, { kind: "retry", ...metadata(frame), ...data, over: false, answered: 0 });
  draft.retry = key;
}

function usageRecorded(draft, frame, data) {
  if (isNews(draft, frame)) draft.usage = addUsage(draft.usage, data);
  setContext(draft, frame, data);
  if (draft.turn?.usage) draft.turn = { ...draft.turn, usage: addUsage(draft.turn.usage, data) };
  if (data.outcome === "done" && !["title", "memory"].includes(data.purpose)) endRetry(draft, { answered: data.attempt });
  moveReadMessages(draft, data.seen_seq ?? 0, data.call_id);
}

function setContext(draft, frame, { context }) {
  if (context && isNews(draft, frame)) draft.context = context;
}

function compacted(draft, frame, data) {
  draft.compacting = null;
  setContext(draft, frame, data);
  addNote(draft, frame, data);
}

// --- tools ----------------------------------------------------------------------------------------

function toolCalled(draft, frame, data) {
  addEntry(draft, `tool:${data.call_id}`, {
    kind: "tool", state: "queued", modelCall: data.model_call_id, ...metadata(frame), ...data,
    output: "", seconds: 0, startedAt: null, live: EMPTY,
  });
}

function toolStarted(draft, frame, data) {
  draft.sandbox = null; // it was there already, if it did not start
  changeEntry(draft, `tool:${data.call_id}`, { state: "running", startedAt: frame.at });
}

function toolProgressed(draft, _frame, data) {
  const entry = draft.entries.get(`tool:${data.call_id}`);
  if (!entry || !["queued", "running"].includes(entry.state)) return false;
  return changeEntry(draft, entry.key, { live: merge(entry.live, data.offset, data.text, MAX_LIVE_OUTPUT) });
}

function toolState({ cause, failed }) {
  if (cause === "cancelled") return "stopped";
  if (cause === "refused" || cause === "denied") return "denied";
  return failed || cause ? "failed" : "finished";
}

function toolReturned(draft, frame, data) {
  draft.sandbox = null; // also if it did not start
  changeEntry(draft, `tool:${data.call_id}`, {
    ...data, state: toolState(data), live: EMPTY, returnedAt: frame.at,
  });
}

function outcomeUnknown(draft, frame, data) {
  changeEntry(draft, `tool:${data.call_id}`, {
    ...data, state: "unknown", live: EMPTY, returnedAt: frame.at,
  });
}

// --- requests to people ---------------------------------------------------------------------------

function requested(draft, frame, data, kind) {
  changeEntry(draft, `tool:${data.call_id}`, { state: "waiting" });
  const ask = { kind, text: data.question, ...data, requested_at: frame.at };
  addEntry(draft, `ask:${data.call_id}`, { kind: "ask", ask, ...metadata(frame) });
}

function removeEntry(draft, key) {
  const at = draft.order.indexOf(key);
  if (at >= 0) writable(draft, "order").splice(at, 1);
  writable(draft, "entries").delete(key);
}

/** The card of the request becomes one line that says who has decided. */
function approvalEnded(draft, frame, data) {
  setStatus(draft, frame, "running");
  if (data.decision === "approve_rest" && isNews(draft, frame)) draft.restApprovedBy = data.by || "a person";
  removeEntry(draft, `ask:${data.call_id}`);
  changeEntry(draft, `tool:${data.call_id}`, { state: "queued" });
  addNote(draft, frame, data);
}

function setPlan(draft, frame, { title, steps }) {
  if (isNews(draft, frame)) draft.plan = { title, steps };
}

function flagsChanged(draft, frame, data) {
  if (data.plan != null && isNews(draft, frame)) draft.planMode = data.plan;
  addNote(draft, frame, data);
}

function approvalRevoked(draft, frame, data) {
  if (isNews(draft, frame)) draft.restApprovedBy = "";
  addNote(draft, frame, data);
}

// --- turns ----------------------------------------------------------------------------------------

function turnStarted(draft, frame, data) {
  moveReadMessages(draft, Infinity);
  draft.turn = { number: data.number, at: frame.at, usage: emptyUsage() };
}

function turnFinished(draft, frame, data) {
  draft.sandbox = draft.compacting = null;
  closeCalls(draft);
  endRetry(draft, {});
  writable(draft, "live").clear();
  const began = draft.turn?.number === data.number ? draft.turn : null;
  // Older logs do not say what a turn took: then it is added up from its frames, if all are here.
  addEntry(draft, `turn:${data.number}`, {
    kind: "turn", ...metadata(frame), ...data,
    seconds: data.seconds || (began ? secondsBetween(began.at, frame.at) : 0),
    usage: usageFrom(data.usage) ?? began?.usage ?? null,
  });
  draft.turn = null;
  // A Stop or Pause that came too late for its turn counts for no later one, and the next turn may begin at once.
  if (frame.seq > draft.pressedAt) draft.stopping = draft.pausing = false;
}

// --- the table ------------------------------------------------------------------------------------

const statusWithNote = (status) => (draft, frame, data) => {
  setStatus(draft, frame, status, data);
  addNote(draft, frame, data);
};

export const eventHandlers = new Map(Object.entries({
  "agent.conversation.queued": (draft, frame, { held }) => {
    setStatus(draft, frame, "queued");
    if (isNews(draft, frame)) Object.assign(draft, { archived: false, waitsFor: held ? "start" : "" });
  },
  "agent.conversation.started": (draft, frame, { model, demo }) => {
    setStatus(draft, frame, "running");
    Object.assign(draft, { model, demo: Boolean(demo) });
  },
  "agent.conversation.waiting": (draft, frame, data) => {
    setStatus(draft, frame, "waiting", data);
    if (data.reason === "sandbox") addNote(draft, frame, data); // the others have a card
  },
  "agent.conversation.paused": statusWithNote("paused"),
  "agent.conversation.resumed": (draft, frame, data) => {
    draft.compacting = null; // the next worker begins it again
    setStatus(draft, frame, "running", data);
    if (!["approval", "question", "helpers"].includes(data.waited_for)) addNote(draft, frame, data);
  },
  "agent.conversation.finished": (draft, frame, data) => setStatus(draft, frame, "finished", data),
  "agent.conversation.failed": (draft, frame, data) => {
    setStatus(draft, frame, "failed", { reason: data.code, detail: data.message });
    addNote(draft, frame, data);
  },
  "agent.conversation.stopped": statusWithNote("stopped"),
  "agent.conversation.archived": (draft, frame, { archived }) => {
    if (isNews(draft, frame)) draft.archived = archived;
  },
  "agent.conversation.forked": (draft, frame, data) => {
    if (isNews(draft, frame)) draft.restApprovedBy = ""; // the copy asks again
    setStatus(draft, frame, "finished");
    if (isNews(draft, frame)) Object.assign(draft, { archived: false, usage: emptyUsage() });
    addNote(draft, frame, data);
  },
  "agent.conversation.interrupted": (draft, frame, data) => {
    closeCalls(draft);
    writable(draft, "live").clear();
    addNote(draft, frame, data);
  },
  "agent.turn.started": turnStarted,
  "agent.turn.finished": turnFinished,
  "agent.title.changed": (draft, frame, { title }) => {
    if (isNews(draft, frame)) draft.title = title;
  },
  "agent.message.received": messageReceived,
  "agent.message.edited": messageEdited,
  "agent.message.withdrawn": messageWithdrawn,
  "agent.message.spoken": messageSpoken,
  "agent.message.discarded": messageDiscarded,
  "agent.text.streamed": textStreamed("said"),
  "agent.thought.recorded": thoughtRecorded,
  "agent.thought.streamed": textStreamed("thought"),
  "agent.model.retried": modelRetried,
  "agent.usage.recorded": usageRecorded,
  "agent.tool.called": toolCalled,
  "agent.tool.started": toolStarted,
  "agent.tool.progressed": toolProgressed,
  "agent.tool.returned": toolReturned,
  "agent.tool.outcome_unknown": outcomeUnknown,
  "agent.approval.requested": (draft, frame, data) => requested(draft, frame, data, "approval"),
  "agent.question.asked": (draft, frame, data) => requested(draft, frame, data, "question"),
  "agent.question.answered": approvalEnded,
  "agent.plan.proposed": (draft, frame, data) => requested(draft, frame, data, "plan"),
  "agent.plan.decided": (draft, frame, data) => {
    approvalEnded(draft, frame, data);
    if (data.decision !== "approve") return;
    setPlan(draft, frame, data);
    if (isNews(draft, frame)) draft.planMode = false;
  },
  "agent.plan.changed": setPlan,
  "agent.approval.given": approvalEnded,
  "agent.approval.expired": approvalEnded,
  "agent.approval.superseded": approvalEnded,
  "agent.approval.revoked": approvalRevoked,
  "agent.todo.changed": (draft, frame, { items, since }) => {
    if (isNews(draft, frame)) draft.todo = items.length ? { items, since } : null;
  },
  "agent.background.started": (draft, frame) => {
    if (isNews(draft, frame)) draft.background += 1;
  },
  "agent.background.finished": (draft, frame, data) => {
    if (isNews(draft, frame)) draft.background -= 1;
    addNote(draft, frame, data);
  },
  "agent.background.progressed": () => true,
  "agent.subagent.started": () => true, // the lanes show them
  "agent.subagent.progressed": () => true,
  "agent.subagent.finished": () => true,
  "agent.teammate.changed": (draft) => { draft.team = true; },
  "agent.protocol.requested": () => true,
  "agent.protocol.resolved": () => true,
  "agent.board.changed": () => true,
  "agent.subagents.released": (draft, frame) => setStatus(draft, frame, "running"),
  "agent.flags.changed": flagsChanged,
  "agent.limit.neared": addNote,
  "agent.limit.reached": addNote,
  "agent.guard.noticed": addNote,
  "agent.reminder.given": addNote,
  "agent.context.trimmed": addNote,
  "agent.context.compaction_requested": addNote,
  "agent.context.compacting": (draft, _frame, { part, parts }) => {
    draft.compacting = { part, parts };
  },
  "agent.context.compacted": compacted,
  "agent.context.compaction_skipped": addNote,
  "agent.skill.loaded": addNote,
  "agent.instructions.read": addNote,
  "agent.memory.written": addNote,
  "agent.model.noticed": addNote,
  "agent.model.switched": (draft, frame, data) => {
    endRetry(draft, { answered: 0 });
    addNote(draft, frame, data);
  },
  "agent.sandbox.starting": (draft, frame, { backend }) => {
    draft.sandbox = { backend, at: frame.at };
  },
  "agent.sandbox.progressed": (draft, frame, { phase, seconds }) => {
    const began = new Date(Date.parse(frame.at) - seconds * 1000).toISOString();
    draft.sandbox = { at: began, ...draft.sandbox, phase };
  },
  "agent.sandbox.started": (draft, frame, data) => {
    draft.sandbox = null;
    addNote(draft, frame, data);
  },
  "agent.sandbox.lost": (draft, frame, data) => {
    draft.sandbox = null;
    addNote(draft, frame, data);
  },
  "agent.sandbox.files_copied": addNote,
  "agent.sandbox.removed": addNote,
  "agent.sandbox.paused": addNote,
  "agent.sandbox.resumed": addNote,
  "agent.mcp.unavailable": addNote,
  "agent.mcp.available": addNote,
  "agent.file.changed": (draft, frame, data) => {
    if (data.change !== "uploaded") return false; // the card of the call tells it
    const last = draft.entries.get(draft.order.at(-1));
    if (last?.type !== frame.type || last.data.by !== data.by) return addNote(draft, frame, data);
    return changeEntry(draft, last.key, { data: { ...data, count: (last.data.count ?? 1) + 1 } });
  },
  "agent.repository.cloned": addNote,
  "agent.repository.unavailable": addNote,
  "agent.repository.pushed": (draft, frame, data) => {
    if (isNews(draft, frame)) draft.branch = data.branch;
    addNote(draft, frame, data);
  },
  "agent.pull_request.opened": (draft, frame, data) => {
    if (isNews(draft, frame)) Object.assign(draft, { branch: data.branch, prUrl: data.url });
    addNote(draft, frame, data);
  },
  "agent.pull_request.changed": addNote,
  "agent.event.unknown": (draft, frame, data) => {
    const type = data.original_type ?? frame.type;
    const facts = data.payload_as_read ?? data;
    // A live frame of an unknown type has no number, so it is not kept.
    if (frame.seq == null) return false;
    addEntry(draft, `unknown:${frame.seq}`, { kind: "unknown", type, data: facts, ...metadata(frame) });
    return true;
  },
}));
