// The state of a conversation, folded from its frames. Pure: no DOM, no clock, no network.
//
// Durable frames are applied in the order of their numbers, each once: a repeat is ignored, a frame
// that came too early is kept in `ahead` until those before it are here. So any log, in any cuts,
// with any repeats and in any order gives the same state.

import { actions } from "./actions.js";
import { branches } from "./branches.js";
import { own } from "./own.js";
import { nothingUsed } from "./usage.js";

/** The state before the frame `after + 1`. `known`: what the server says of the conversation. */
export function initial(known = {}, after = 0) {
  return {
    first: after + 1, // the oldest frame this state knows of
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
    retry: null, // key of the retry notice that still counts down
    live: new Map(), // model call -> {kind, call, text, ...}: words being written
    sandbox: null, // {backend, at} while one is being started
    usage: nothingUsed(),
    pending: new Map(), // client_id -> {text, on_busy, at}: sent, not yet in the log
    refused: null, // {text, detail}: the last send that was refused
    stopping: false, // a person pressed Stop; the end is not in the log yet
    connection: "connecting",
  };
}

/** The state after one more frame or one more act of the reader. */
export function reduce(state, input) {
  return fold(state, [input]);
}

/** The state after many; what changes is copied once, however many there are. */
export function fold(state, inputs) {
  const draft = copy(state);
  let changed = false;
  for (const input of inputs) changed = apply(draft, input) || changed;
  delete draft.owned;
  return changed ? draft : state;
}

/**
 * The state with an older page before it: folded anew from the beginning of that page, because
 * what stands in it (a title, a queue, a turn) bears on what follows. What is no row is kept.
 */
export function withOlder(state, frames) {
  const { live, pending, refused, stopping, connection, ahead } = state;
  const begun = initial({ status: "queued", title: state.title }, frames[0].seq - 1);
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

// A draft shares everything with the state it came from until it writes: see own().
function copy(state) {
  return { ...state, owned: new Set() };
}

function apply(draft, input) {
  if (input.act) return actions[input.act](draft, input) !== false;
  if (input.seq == null) return step(draft, input);
  if (input.seq <= draft.seq || draft.ahead.has(input.seq)) return false;
  if (input.seq > draft.seq + 1) {
    own(draft, "ahead").set(input.seq, input);
    return true;
  }
  for (let frame = input; frame; frame = draft.ahead.get(draft.seq + 1)) {
    if (draft.ahead.has(frame.seq)) own(draft, "ahead").delete(frame.seq);
    draft.seq = frame.seq;
    step(draft, frame);
  }
  return true;
}

function step(draft, frame) {
  const branch = branches[frame.type] ?? branches["agent.event.unknown"];
  return branch(draft, frame, frame.data ?? {}) !== false;
}
