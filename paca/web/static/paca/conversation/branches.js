// What each type of event does to the state: one branch a type, held against events.json by a test.

import { merge, EMPTY } from "./live.js";
import { own } from "./own.js";
import { nothingUsed, plus } from "./usage.js";

const BUSY = new Set(["running", "waiting"]);
const OUTPUT_KEPT = 64_000; // characters of live output; the whole of it stands in the result

// --- entries --------------------------------------------------------------------------------------

function put(draft, key, entry) {
  if (!draft.entries.has(key)) own(draft, "order").push(key);
  own(draft, "entries").set(key, { key, ...entry });
}

function change(draft, key, facts) {
  const entry = draft.entries.get(key);
  if (entry) own(draft, "entries").set(key, { ...entry, ...facts });
  return Boolean(entry);
}

/** A line or notice that says one fact and does not change any more. */
function note(draft, frame, data) {
  put(draft, `note:${frame.seq}`, { kind: "note", type: frame.type, data, ...stamp(frame) });
}

const stamp = ({ seq, at, source, turn }) => ({ seq, at, source, turn });

// --- status ---------------------------------------------------------------------------------------

function become(draft, frame, status, { reason = "", detail = "" } = {}) {
  Object.assign(draft, { status, reason, detail, since: frame.at });
  if (BUSY.has(status)) return;
  draft.stopping = false;
  draft.sandbox = null;
  if (status === "queued") return;
  own(draft, "live").clear();
  endRetry(draft, {});
  takeMessages(draft, Infinity);
}

function endRetry(draft, facts) {
  if (draft.retry) change(draft, draft.retry, { over: true, ...facts });
  draft.retry = null;
}

/** Calls without an outcome when the turn ends were cut with it. */
function closeCalls(draft) {
  for (let index = draft.order.length - 1; index >= 0; index -= 1) {
    const entry = draft.entries.get(draft.order[index]);
    if (entry.kind === "turn") return;
    if (entry.kind === "tool" && ["queued", "running"].includes(entry.state)) {
      change(draft, entry.key, { state: "stopped" });
    }
  }
}

// --- messages -------------------------------------------------------------------------------------

/**
 * Move messages the agent has read out of the queue. A message stands before the reply of the
 * model call that read it, although the log stored it while that reply was not yet there.
 */
function takeMessages(draft, upTo, call = "") {
  const taken = draft.queue.filter((key) => draft.entries.get(key).seq <= upTo);
  if (!taken.length) return;
  draft.queue = draft.queue.filter((key) => !taken.includes(key));
  draft.owned.add("queue");
  own(draft, "order").splice(startOfReply(draft, call), 0, ...taken);
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

function received(draft, frame, data) {
  own(draft, "pending").delete(data.client_id);
  const key = `message:${frame.seq}`;
  const entry = { key, kind: "person", ...stamp(frame), ...data };
  own(draft, "entries").set(key, entry);
  own(draft, BUSY.has(draft.status) ? "queue" : "order").push(key);
}

function spoken(draft, frame, data) {
  own(draft, "live").delete(`said:${data.call_id}`);
  // A truncated answer is continued under the same call or a new one; each part is one entry.
  const key = data.call_id ? `said:${data.call_id}` : `said:${frame.seq}`;
  const free = draft.entries.has(key) ? `${key}:${frame.seq}` : key;
  put(draft, free, { kind: "said", modelCall: data.call_id, ...stamp(frame), ...data });
}

function discarded(draft, frame, data) {
  own(draft, "live").delete(`said:${data.call_id}`);
  own(draft, "live").delete(`thought:${data.call_id}`);
  if (data.text) put(draft, `discarded:${frame.seq}`, { kind: "discarded", ...stamp(frame), ...data });
}

function streamed(kind) {
  return (draft, frame, { call_id: call, offset, text }) => {
    const key = `${kind}:${call}`;
    if (draft.entries.has(key)) return false; // the stored words are here already
    const live = draft.live.get(key) ?? { ...EMPTY, kind, call, at: frame.at };
    own(draft, "live").set(key, merge(live, offset, text));
    return true;
  };
}

function thought(draft, frame, data) {
  own(draft, "live").delete(`thought:${data.call_id}`);
  const key = data.call_id ? `thought:${data.call_id}` : `thought:${frame.seq}`;
  const free = draft.entries.has(key) ? `${key}:${frame.seq}` : key;
  const { text, seconds, redacted } = data;
  put(draft, free, {
    kind: "thought", modelCall: data.call_id, text, seconds, redacted: Boolean(redacted), ...stamp(frame),
  });
}

// --- model ----------------------------------------------------------------------------------------

// One notice from the first failed attempt to the answer, however many attempts lie between.
function retried(draft, frame, data) {
  const key = draft.retry ?? `retry:${frame.seq}`;
  put(draft, key, { kind: "retry", ...stamp(frame), ...data, over: false, answered: 0 });
  draft.retry = key;
}

function used(draft, _frame, data) {
  draft.usage = plus(draft.usage, data);
  if (draft.turn) draft.turn = { ...draft.turn, usage: plus(draft.turn.usage, data) };
  if (data.outcome === "done") endRetry(draft, { answered: data.attempt });
  takeMessages(draft, data.seen_seq ?? 0, data.call_id);
}

// --- tools ----------------------------------------------------------------------------------------

function called(draft, frame, data) {
  put(draft, `tool:${data.call_id}`, {
    kind: "tool", state: "queued", modelCall: data.model_call_id, ...stamp(frame), ...data,
    output: "", seconds: 0, startedAt: null, live: EMPTY,
  });
}

function toolStarted(draft, frame, data) {
  change(draft, `tool:${data.call_id}`, { state: "running", startedAt: frame.at });
}

function progressed(draft, _frame, data) {
  const entry = draft.entries.get(`tool:${data.call_id}`);
  if (!entry || !["queued", "running"].includes(entry.state)) return false;
  return change(draft, entry.key, { live: merge(entry.live, data.offset, data.text, OUTPUT_KEPT) });
}

function toolState({ cause, failed }) {
  if (cause === "cancelled") return "stopped";
  if (cause === "refused") return "denied";
  return failed || cause ? "failed" : "finished";
}

function returned(draft, frame, data) {
  draft.sandbox = null; // also of one that did not start
  change(draft, `tool:${data.call_id}`, {
    ...data, state: toolState(data), live: EMPTY, returnedAt: frame.at,
  });
}

function outcomeUnknown(draft, frame, data) {
  change(draft, `tool:${data.call_id}`, {
    ...data, state: "unknown", live: EMPTY, returnedAt: frame.at,
  });
}

// --- turns ----------------------------------------------------------------------------------------

function turnStarted(draft, frame, data) {
  takeMessages(draft, Infinity);
  draft.turn = { number: data.number, at: frame.at, usage: nothingUsed() };
}

function turnFinished(draft, frame, data) {
  draft.sandbox = null;
  closeCalls(draft);
  endRetry(draft, {});
  own(draft, "live").clear();
  const began = draft.turn?.number === data.number ? draft.turn : null;
  put(draft, `turn:${data.number}`, {
    kind: "turn", ...stamp(frame), ...data,
    began: began?.at ?? null, usage: began?.usage ?? null,
  });
  draft.turn = null;
}

// --- the table ------------------------------------------------------------------------------------

const says = (status) => (draft, frame, data) => {
  become(draft, frame, status, data);
  note(draft, frame, data);
};

export const branches = {
  "agent.conversation.queued": (draft, frame) => become(draft, frame, "queued"),
  "agent.conversation.started": (draft, frame, { model, demo }) => {
    become(draft, frame, "running");
    Object.assign(draft, { model, demo: Boolean(demo) });
  },
  "agent.conversation.waiting": says("waiting"),
  "agent.conversation.paused": says("paused"),
  "agent.conversation.resumed": says("running"),
  "agent.conversation.finished": (draft, frame, data) => become(draft, frame, "finished", data),
  "agent.conversation.failed": (draft, frame, data) => {
    become(draft, frame, "failed", { reason: data.code, detail: data.message });
    note(draft, frame, data);
  },
  "agent.conversation.stopped": says("stopped"),
  "agent.conversation.interrupted": (draft, frame, data) => {
    closeCalls(draft);
    own(draft, "live").clear();
    note(draft, frame, data);
  },
  "agent.turn.started": turnStarted,
  "agent.turn.finished": turnFinished,
  "agent.title.changed": (draft, _frame, { title }) => {
    draft.title = title;
  },
  "agent.message.received": received,
  "agent.message.spoken": spoken,
  "agent.message.discarded": discarded,
  "agent.text.streamed": streamed("said"),
  "agent.thought.recorded": thought,
  "agent.thought.streamed": streamed("thought"),
  "agent.model.retried": retried,
  "agent.usage.recorded": used,
  "agent.tool.called": called,
  "agent.tool.started": toolStarted,
  "agent.tool.progressed": progressed,
  "agent.tool.returned": returned,
  "agent.tool.outcome_unknown": outcomeUnknown,
  "agent.limit.neared": note,
  "agent.limit.reached": note,
  "agent.guard.noticed": note,
  "agent.sandbox.starting": (draft, frame, { backend }) => {
    draft.sandbox = { backend, at: frame.at };
  },
  "agent.sandbox.started": (draft, frame, data) => {
    draft.sandbox = null;
      note(draft, frame, data);
  },
  "agent.sandbox.lost": (draft, frame, data) => {
    draft.sandbox = null;
    note(draft, frame, data);
  },
  "agent.sandbox.removed": note,
  "agent.sandbox.paused": note,
  "agent.sandbox.resumed": note,
  "agent.event.unknown": (draft, frame, data) => {
    const type = data.original_type ?? frame.type;
    const facts = data.payload_as_read ?? data;
    // A live frame of an unknown type has no number and no place to stay.
    if (frame.seq == null) return false;
    put(draft, `unknown:${frame.seq}`, { kind: "unknown", type, data: facts, ...stamp(frame) });
    return true;
  },
};
