// Selectors: the rows of the page from the state. Pure; unchanged rows are the same objects as before.

import { activityOf, goesOnByItself } from "./labels.js";
import { phrase } from "./tools.js";

const OFFLINE = new Set(["lost", "too-many", "signed-out", "forbidden", "missing"]);
const CANNOT_BEGIN = new Set(["agent_paused", "agent_inactive", "agent_busy", "newer_worker"]);
const UNFINISHED = ["queued", "running"];

/** The cache by which `rows` gives the same object again for an unchanged row. */
export function newCache() {
  return { rows: new Map(), from: [], stored: [] };
}

/** The rows in order. */
export function rows(state, cache = newCache()) {
  const found = [...stored(state, cache)];
  const add = (row) => found.push(reuse(cache.rows, row));
  let speaks = lastSpeaker(found) === "agent";
  for (const live of state.live.values()) {
    add({ key: `${live.kind}:${live.call}`, kind: live.kind, entry: live, live: true, head: !speaks });
    speaks = true;
  }
  for (const [id, message] of waitsInQueue(state) ? [] : state.pending) {
    add({ key: `pending:${id}`, kind: "pending", entry: message, head: true });
  }
  const now = activityRow(state);
  if (now) add(now);
  return found;
}

/** The rows of the log. The list is the same object while only live text changes. */
function stored(state, cache) {
  const from = [state.order, state.entries, state.status];
  if (from.every((part, index) => part === cache.from[index])) return cache.stored;
  const ending = lastEnding(state);
  const last = state.order.at(-1);
  let voice = null; // the present speaker; a row by another one starts with a head
  const found = grouped(state).map((part) => {
    const speaker = speakerOf(part);
    const head = speaker !== null && speaker !== voice;
    voice = speaker ?? (endsSpeech(part) ? null : voice);
    return reuse(cache.rows, { ...part, head, current: part.key === ending, last: part.key === last });
  });
  prune(cache.rows, found);
  Object.assign(cache, { from, stored: found });
  return found;
}

function lastSpeaker(found) {
  const row = found.findLast((each) => speakerOf(each) !== null || endsSpeech(each));
  return row ? speakerOf(row) : null;
}

/** The messages shown above the composer: not read by the agent yet, or still being sent. */
export function queue(state) {
  const stored = [...unread(state), ...state.queue.map((key) => state.entries.get(key))];
  const sending = !waitsInQueue(state) ? [] : [...state.pending].map(([id, message]) => ({ key: `pending:${id}`, clientId: id, sending: true, ...message }));
  return [...stored, ...sending];
}

/**
 * The messages of a conversation whose agent cannot begin for now. They are in the flow too, but there
 * they cannot be changed.
 */
function unread(state) {
  if (state.status !== "queued" || !CANNOT_BEGIN.has(state.waitsFor)) return [];
  const last = state.order.findLastIndex((key) => state.entries.get(key).kind !== "person");
  return state.order.slice(last + 1).map((key) => ({ ...state.entries.get(key), unread: true }));
}

/** Whether the agent works, or is about to. */
export function isBusy(state) {
  return ["queued", "running", "waiting"].includes(state.status);
}

/** Whether the page has lost the server, or may no longer talk to it. */
export function isOffline(state) {
  return OFFLINE.has(state.connection);
}

function waitsInQueue(state) {
  return ["running", "waiting"].includes(state.status) || isOffline(state);
}

/** The notice that says why the conversation stopped, and has the button to continue. */
function lastEnding(state) {
  if (!["paused", "failed", "stopped"].includes(state.status)) return null;
  return state.order.findLast((key) => state.entries.get(key).type === `agent.conversation.${state.status}`) ?? null;
}

// --- parts ----------------------------------------------------------------------------------------

function grouped(state) {
  const parts = [];
  const entries = state.order.map((key) => state.entries.get(key));
  for (let index = 0; index < entries.length; ) {
    const run = readsFrom(entries, index);
    // The last reads stay cards until another row follows, so that nothing folds while it is read.
    if (run.length > 1 && index + run.length < entries.length) {
      parts.push({ key: `group:${run[0].key}`, kind: "group", entries: run });
      index += run.length;
    } else {
      const entry = entries[index];
      parts.push({ key: entry.key, kind: entry.kind, entry });
      index += 1;
    }
  }
  return parts;
}

function readsFrom(entries, start) {
  let end = start;
  while (end < entries.length && isFinishedRead(entries[end])) end += 1;
  return entries.slice(start, end);
}

function isFinishedRead(entry) {
  return entry.kind === "tool" && entry.effect === "read_only" && entry.state === "finished";
}

const AGENTS = new Set(["said", "thought", "tool", "group", "discarded"]);

function speakerOf({ kind, entry }) {
  if (kind === "person") return `person:${entry.seq}`;
  return AGENTS.has(kind) ? "agent" : null;
}

/** Whether the next message of the agent after this row starts with its head again. */
function endsSpeech({ kind }) {
  return kind === "turn";
}

/** The last row while the agent works and no other row shows progress. */
function activityRow(state) {
  if (!isBusy(state) || !goesOnByItself(state)) return null;
  const tool = unfinishedCall(state);
  const talks = [...state.live.values()].some((live) => live.kind === "said");
  if (talks && !state.stopping) return null;
  if (tool?.state === "running" && !state.stopping && !state.sandbox) return null;
  const activity = activityOf(state, tool ? phrase(tool) : "");
  // Nothing moves while a conversation waits for its turn.
  const still = state.status !== "running";
  return { key: "now", kind: "now", activity, since: activitySince(state), still };
}

/** The newest unfinished tool call of this turn. */
function unfinishedCall(state) {
  for (let index = state.order.length - 1; index >= 0; index -= 1) {
    const entry = state.entries.get(state.order[index]);
    if (entry.kind === "turn") return null;
    if (entry.kind === "tool" && UNFINISHED.includes(entry.state)) return entry;
  }
  return null;
}

function activitySince(state) {
  if (state.sandbox) return state.sandbox.at;
  const newest = state.entries.get(state.order.at(-1));
  const began = state.status === "queued" ? state.since : (state.turn?.at ?? state.since);
  return newest?.at && newest.at > (began ?? "") ? newest.at : began;
}

// --- reuse ----------------------------------------------------------------------------------------

function reuse(cache, row) {
  const before = cache.get(row.key);
  if (before && same(before, row)) return before;
  cache.set(row.key, row);
  return row;
}

function same(one, other) {
  const keys = Object.keys(other);
  if (keys.length !== Object.keys(one).length) return false;
  return keys.every((key) => one[key] === other[key] || (key === "entries" && sameList(one[key], other[key])));
}

function sameList(one, other) {
  return one?.length === other?.length && one.every((entry, index) => entry === other[index]);
}

function prune(cache, found) {
  if (cache.size <= found.length) return;
  const keys = new Set(found.map((row) => row.key));
  for (const key of cache.keys()) if (!keys.has(key)) cache.delete(key);
}
