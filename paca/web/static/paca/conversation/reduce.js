// The reducer: the state of a conversation from its frames. Pure: no DOM, no clock, no network.
//
// Durable frames are applied once each, in the order of their numbers. Repeats are ignored, and frames
// that come too early wait in `ahead`. So the same log gives the same state, in whatever order, pieces
// and repeats its frames arrive.

import { actions } from "./local-actions.js";
import { eventHandlers } from "./event-handlers.js";
import { writable } from "./copy-on-write.js";
import { emptyUsage } from "./usage.js";

/** The state before the frame `after + 1`; `known` is the conversation as the server describes it. */
export function initialState(known = {}, after = 0) {
  return {
    first: after + 1, // the oldest frame applied
    seq: after, // the newest frame applied
    ahead: new Map(), // seq -> frame, waiting for the ones before it
    status: known.status ?? "queued",
    reason: known.reason ?? "",
    detail: "",
    since: known.created_at ?? null, // when this status began
    title: known.title ?? "",
    model: "",
    demo: false,
    turn: null, // {number, at, usage} of the turn that runs
    entries: new Map(), // key -> entry: an entry is never changed, only replaced
    order: [], // keys in the order of the page
    queue: [], // keys of messages the agent has not read
    retry: null, // key of the retry notice that is counting down
    live: new Map(), // model call -> {kind, call, text, ...}: text being streamed
    sandbox: null, // {backend, at} while one is being started
    usage: emptyUsage(),
    pending: new Map(), // client_id -> {text, on_busy, at}: sent, not yet in the log
    refused: null, // {text, detail} of the last refused message
    stopping: false, // a person pressed Stop, and the log has no end of the turn yet
    connection: "connecting",
  };
}

/** The state after one more frame or local action. */
export function reduce(state, input) {
  return fold(state, [input]);
}

/** The state after many frames or actions; each map and list is copied at most once. */
export function fold(state, inputs) {
  const draft = draftOf(state);
  let changed = false;
  for (const input of inputs) changed = apply(draft, input) || changed;
  delete draft.owned;
  return changed ? draft : state;
}

/**
 * The state with an older page of frames before it. All frames are applied again, because the older
 * ones (a title, a queue, a turn) affect the later ones. What does not come from the log is kept.
 */
export function withOlder(state, frames) {
  const { live, pending, refused, stopping, connection, ahead } = state;
  const begun = initialState({ status: "queued", title: state.title }, frames[0].seq - 1);
  const folded = { ...fold(begun, frames), live, pending, refused, stopping, connection, ahead };
  for (const { key, live: output } of state.entries.values()) {
    if (output?.length) folded.entries.set(key, { ...folded.entries.get(key), live: output });
  }
  return folded;
}

/** Whether frames are missing between those applied and those received. */
export function hasGap(state) {
  return state.ahead.size > 0;
}

// A draft shares all maps and lists with its state until it writes to them: see writable().
function draftOf(state) {
  return { ...state, owned: new Set() };
}

function apply(draft, input) {
  if (input.act) return Object.hasOwn(actions, input.act) && actions[input.act](draft, input) !== false;
  if (input.seq == null) return applyFrame(draft, input);
  if (input.seq <= draft.seq || draft.ahead.has(input.seq)) return false;
  if (input.seq > draft.seq + 1) {
    writable(draft, "ahead").set(input.seq, input);
    return true;
  }
  for (let frame = input; frame; frame = draft.ahead.get(draft.seq + 1)) {
    if (draft.ahead.has(frame.seq)) writable(draft, "ahead").delete(frame.seq);
    draft.seq = frame.seq;
    applyFrame(draft, frame);
  }
  return true;
}

function applyFrame(draft, frame) {
  const unknown = eventHandlers.get("agent.event.unknown");
  const handle = eventHandlers.get(frame.type) ?? unknown;
  try {
    return handle(draft, frame, frame.data ?? {}) !== false;
  } catch {
    // A frame whose facts do not fit is shown as it is, and the frames after it are applied.
    return unknown(draft, frame, { original_type: frame.type, payload_as_read: frame.data ?? {} }) !== false;
  }
}
