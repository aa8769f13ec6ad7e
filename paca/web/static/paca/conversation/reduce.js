// The reducer: the state of a conversation from its frames. Pure: no DOM, no clock, no network.
//
// Durable frames are applied once each, in the order of their numbers. Repeats are ignored, and frames
// that come too early wait in `ahead`. So the same log gives the same state, in whatever order, pieces
// and repeats its frames arrive.

import { actions } from "./local-actions.js";
import { eventHandlers } from "./event-handlers.js";
import { writable } from "./copy-on-write.js";
import { initialState } from "./initial-state.js";

export { initialState };

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
 * ones (a queue, a turn) affect the later ones. Rows come of it; the facts of the whole stay.
 */
export function withOlder(state, frames) {
  const { known, status, reason, detail, since, waitsFor, title, archived, branch, prUrl, usage, context, todo, plan, planMode, background, compacting, turn, sandbox } = state;
  const { live, pending, refused, stopping, pausing, pressedAt, restApprovedBy, connection, ahead } = state;
  const folded = fold(startOf(frames, {}, Infinity), frames);
  const joined = {
    ...folded, known, status, reason, detail, since, waitsFor, title, archived, branch, prUrl, usage, context, todo, plan, planMode, background, compacting, sandbox, restApprovedBy,
    model: folded.model || state.model, demo: folded.model ? folded.demo : state.demo,
    turn: folded.turn ?? turn, live, pending, refused, stopping, pausing, pressedAt, connection, ahead,
  };
  for (const { key, live: output } of state.entries.values()) {
    if (output?.length) joined.entries.set(key, { ...joined.entries.get(key), live: output });
  }
  return joined;
}

/** The state before the first of these frames, which may be in the middle of a log. */
export function startOf(frames, known, upTo = known.last_seq ?? 0, turn = null) {
  const state = initialState(known, (frames[0]?.seq ?? 1) - 1, turn);
  return { ...state, known: upTo, logStatus: statusBefore(frames) ?? state.status };
}

// Frames that a worker writes in a turn carry its number; the first status of the log tells the one before it.
function statusBefore(frames) {
  for (const { type, turn } of frames) {
    if (type === "agent.conversation.queued") return "finished";
    if (type === "agent.conversation.started") return "queued";
    if (turn != null) return "running";
  }
  return null;
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
