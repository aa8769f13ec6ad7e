// The state of a conversation before any of its frames.

import { emptyUsage, usageFrom } from "./usage.js";

/**
 * The state before the frame `after + 1`. `known` is the conversation as the server describes it; `turn` the
 * one that runs.
 *
 * Facts of the whole conversation (status, title, usage, turn) are those of `known`, and of the frames after
 * its `last_seq`. They never depend on how much of the log is loaded.
 */
export function initialState(known = {}, after = 0, turn = null) {
  const status = known.status ?? "queued";
  return {
    known: known.last_seq ?? 0, // frames up to this one are in the facts already
    first: after + 1, // the oldest frame applied
    seq: after, // the newest frame applied
    ahead: new Map(), // seq -> frame, waiting for the ones before it
    status,
    logStatus: status, // the status at the newest applied frame: it decides where a message goes
    waitsFor: known.waits_for ?? "", // what a queued conversation waits for
    reason: known.reason ?? "",
    detail: "",
    since: (status === "running" ? known.started_at : known.finished_at) ?? known.updated_at ?? null, // when this status began
    title: known.title ?? "",
    archived: Boolean(known.archived),
    branch: known.branch ?? "",
    prUrl: known.pr_url ?? "",
    model: known.model ?? "",
    demo: Boolean(known.demo),
    turn: turn && { number: turn.number, at: turn.started_at, usage: null }, // {number, at, usage} of the turn that runs
    entries: new Map(), // key -> entry: an entry is never changed, only replaced
    order: [], // keys in the order of the page
    queue: [], // keys of messages the agent has not read
    retry: null, // key of the retry notice that is counting down
    live: new Map(), // model call -> {kind, call, text, ...}: text being streamed
    sandbox: null, // {backend, at} while one is being started
    usage: usageFrom(known.usage) ?? emptyUsage(),
    context: known.context ?? null, // {used, window, parts}: what fills the model's window
    todo: known.todo ?? null, // {items: [{text, state}], since}: the agent's to-do list
    plan: known.plan ?? null, // {title, steps: [{text, state}]}: the approved plan
    planMode: Boolean(known.plan_mode),
    background: known.background_running ?? 0, // how many commands run in the background
    compacting: null, // {part, parts} while a model writes a summary of what came before
    pending: new Map(), // client_id -> {text, on_busy, at}: sent, not yet in the log
    refused: null, // {text, detail} of the last refused message
    stopping: false, // a person pressed Stop, and the log has no end of the turn yet
    pressedAt: 0, // the newest event that the page knew when a person pressed Stop or Pause
    restApprovedBy: known.rest_approved_by ?? "", // who has approved all later calls
    pausing: false, // a person pressed Pause, and the step that runs is not over yet
    connection: "connecting",
  };
}
