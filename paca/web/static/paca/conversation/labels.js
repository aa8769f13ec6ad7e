// The texts of states, activities and notices. A notice has the fact and the next step.

import { endInWords } from "../asks/ask-words.js";
import { duration } from "../core/time.js";
import { ACTIVITIES, NEEDS_YOU, REASONS, STATUSES, SANDBOX_PHASES, STATUSES_WITH_REASON, WAITS_FOR, WAITS_FOR_PEOPLE } from "./status-labels.js";

/** Label, icon and tone of a conversation's status, and its reason in a few words. */
export function stateOf({ status, reason = "", waitsFor = "" }) {
  const state = STATUSES.get(status) ?? { label: status, icon: "circle-help" };
  const shownReason = STATUSES_WITH_REASON.includes(status) ? (REASONS.get(reason || waitsFor) ?? "") : "";
  if (status !== "waiting") return { ...state, tone: status, reason: shownReason };
  // The tone of "waiting" asks for a person; a conversation that goes on by itself has another one.
  if (WAITS_FOR_PEOPLE.includes(reason)) return { ...Object.fromEntries(NEEDS_YOU), tone: status, reason: "" };
  return { ...state, tone: "queued", reason: shownReason };
}

/** Whether the agent works or will work without a person: it is queued, works, or waits for its sandbox. */
export function goesOnByItself({ status, reason = "" }) {
  return ["queued", "running"].includes(status) || (status === "waiting" && !WAITS_FOR_PEOPLE.includes(reason));
}

/** The present activity of the agent, as a phrase. */
export function activityOf(state, toolPhrase) {
  if (state.stopping) return "Stopping";
  if (state.status === "queued") return WAITS_FOR.get(state.waitsFor) ?? WAITS_FOR.get("worker");
  if (state.status === "waiting") return "Waiting";
  if (state.sandbox) return startingInWords(state.sandbox);
  if (state.retry) return ACTIVITIES.get("retrying");
  if (state.compacting) return compactingInWords(state.compacting);
  if (toolPhrase) return toolPhrase;
  const newest = [...state.live.values()].at(-1);
  if (!newest) return ACTIVITIES.get("waiting_for_model");
  return newest.kind === "said" ? "Writing" : ACTIVITIES.get("thinking");
}

function startingInWords({ phase }) {
  const words = SANDBOX_PHASES.get(phase);
  return words ? `${ACTIVITIES.get("starting_sandbox")}: ${words}` : ACTIVITIES.get("starting_sandbox");
}

function compactingInWords({ part, parts }) {
  return parts > 1 ? `${ACTIVITIES.get("compacting")}: part ${part} of ${parts}` : ACTIVITIES.get("compacting");
}

/** "asking the backend 30 s, creating it 9.1 s": the phases that took a second or more. */
function phasesInWords(phases) {
  return Object.entries(phases).filter(([, seconds]) => seconds >= 1)
    .map(([phase, seconds]) => `${SANDBOX_PHASES.get(phase) ?? phase} ${duration(seconds)}`).join(", ");
}

// --- notices --------------------------------------------------------------------------------------

const BUDGETS = new Map(Object.entries({
  turn: " of one turn",
  conversation: " of a conversation",
  family: " of the conversation that started it",
  team: " of the conversation of its lead",
  agent_day: " of the agent for today",
  project_month: " of the project for this month",
}));
// Continue gives no more of these: several conversations share them.
const SHARED_BUDGETS = ["family", "team", "agent_day", "project_month"];

const PAUSED = new Map(Object.entries({
  by_person: ({ by }) => `Paused by ${by || "a person"}.`,
  step_limit: () => "Paused at the step limit of one turn.",
  token_budget: ({ budget }) => `Paused at the token limit${BUDGETS.get(budget) ?? ""}.`,
  cost_budget: ({ budget }) => `Paused at the cost limit${BUDGETS.get(budget) ?? ""}.`,
  time_limit: () => "Paused at the time limit of one turn.",
  rate_limited: () => "Paused: the model's provider limits the number of requests.",
  model_unavailable: () => "Paused: the model does not answer.",
  context_full: () => "Paused: the conversation is longer than the model takes.",
  stuck: () => "Paused: the agent repeated the same step without progress.",
  parked: () => "Parked: the same step failed several times in a row.",
}));

const NEXT_STEPS = new Map(Object.entries({
  stuck: "Nothing is lost. Write what to try instead, or continue to let the agent try again.",
  parked: "Try again, stop the conversation, or write what to do instead.",
}));

const NOTES = new Map(Object.entries({
  "agent.conversation.paused": (data) => ({
    look: "notice", tone: "hold", icon: "pause",
    fact: (PAUSED.get(data.reason) ?? (() => "Paused."))(data),
    // The detail of a limit says what Continue gives.
    more: sentence(data.detail, data.limit ? "" : NEXT_STEPS.get(data.reason) ?? "Nothing is lost. Continue, or write a message to go on."),
  }),
  "agent.conversation.failed": ({ code, message, next_step: next }, { agent }) => ({
    look: "notice", tone: "bad", icon: "circle-x",
    fact: message || `${agent} could not go on (${code}).`,
    more: next,
  }),
  "agent.conversation.stopped": ({ by, reason }) => ({
    look: "divider",
    fact: reason === "by_person" ? `Stopped by ${by || "a person"}` : `Stopped: ${REASONS.get(reason) ?? reason}`,
  }),
  "agent.conversation.interrupted": ({ by }) => ({
    look: "divider", fact: `Interrupted by ${by || "a person"}`,
  }),
  "agent.conversation.forked": ({ title, files, conversation_id: conversation }) => ({
    look: "divider", conversation,
    fact: `A copy up to here of ${title ? `“${title}”` : "another conversation"}${files === "later" ? ". Its files are copied when first used" : ", without files"}`,
  }),
  "agent.conversation.waiting": ({ detail }, { agent }) => ({
    look: "notice", icon: "clock",
    fact: "The sandbox cannot be reached for now.",
    more: sentence(detail, `Nothing is lost. ${agent} continues automatically.`),
  }),
  "agent.conversation.resumed": ({ waited_for: waitedFor }) => ({
    look: "slim", icon: "rotate-ccw",
    fact: waitedFor
      ? "The sandbox can be reached again"
      : "The worker was lost. Another one has taken over; nothing stored is lost",
  }),
  "agent.approval.given": approvalEnd("agent.approval.given"),
  "agent.approval.expired": approvalEnd("agent.approval.expired"),
  "agent.approval.superseded": approvalEnd("agent.approval.superseded"),
  "agent.question.answered": approvalEnd("agent.question.answered", "circle-help"),
  "agent.plan.decided": approvalEnd("agent.plan.decided", "list-checks"),
  "agent.approval.revoked": ({ by }) => ({
    look: "slim", icon: "shield", fact: `${by || "A person"} took back the approval of the rest: later calls ask again`,
  }),
  "agent.flags.changed": ({ by, tracing, plan }, { agent }) => (plan != null ? {
    look: "slim", icon: "list-checks",
    fact: plan ? `Plan mode: ${agent} only reads until its plan is approved${by ? `, says ${by}` : ""}` : `${by || "A person"} switched plan mode off`,
  } : {
    look: "slim", icon: "gauge", fact: `${by} switched the trace ${tracing ? "on" : "off"}, from the next turn`,
  }),
  "agent.limit.neared": ({ which, left }) => ({
    look: "slim", icon: "gauge", fact: `${amountLeft(which, left)}, wrapping up`,
  }),
  "agent.limit.reached": ({ which, limit }) => ({
    look: "slim", icon: "gauge", fact: `${capital(REASONS.get(which) ?? which)} reached: ${amount(which, limit)}`,
  }),
  "agent.context.trimmed": ({ results }) => ({
    look: "slim", icon: "gauge",
    fact: `The conversation is longer than the model takes: its oldest ${results === 1 ? "tool result is" : `${results} tool results are`} left out of requests`,
  }),
  "agent.context.compaction_requested": ({ by, focus }) => ({
    look: "slim", icon: "file-text",
    fact: `${by || "A person"} asked for a summary of what came before${focus ? `, above all of “${focus}”` : ""}: it is made before the next answer`,
  }),
  "agent.context.compacted": ({ summary, carried, model, tokens_before: before, tokens_after: after }) => ({
    look: "opening", told: summary, carried,
    fact: `${model ? "Summary of what came before" : "What came before was left out"} · ${before.toLocaleString("en")} to ${after.toLocaleString("en")} tokens`,
  }),
  "agent.context.compaction_skipped": () => ({
    look: "slim", icon: "file-text", fact: "No summary was made: it would hardly be shorter than what it replaces",
  }),
  "agent.skill.loaded": ({ skill, keyword, text }) => ({
    look: "fold", icon: "file", fact: `Skill ${skill} opened${keyword ? ` for “${keyword}”` : ""}`, told: text,
  }),
  "agent.memory.written": ({ text, replaces, about, state }) => ({
    look: "slim", icon: "brain", fact: `${text ? "Noted" : "Taken out"} for ${about === "project" ? "the project" : "itself"}${state === "waiting" ? ", if a person accepts it" : ""}: ${text || replaces}`,
  }),
  "agent.instructions.read": ({ path, text, truncated }) => ({
    look: "fold", icon: "file", fact: `Read ${path} of the workspace${truncated ? ", its beginning" : ""}`, told: text,
  }),
  "agent.model.switched": ({ from_model: from, to_model: to, cause }) => ({
    look: "notice", tone: "wait", icon: "circle-alert", fact: `${from} does not answer, so ${to} goes on with this turn.`,
    more: sentence(cause, "The next turn tries the first model again."),
  }),
  "agent.model.noticed": ({ code, text }) => ({
    look: "notice", tone: "wait", icon: code === "only_reasoning" ? "brain" : "circle-alert", fact: text,
  }),
  "agent.reminder.given": ({ kind, text }, { agent }) => ({
    look: "fold", icon: "circle-check", told: text,
    fact: kind === "hint" ? "Hint of the settings" : `${agent} was asked to check its work`,
  }),
  "agent.guard.noticed": ({ guard, note }, { agent }) => ({
    look: "fold", icon: "circle-alert", fact: (GUARDS.get(guard) ?? GUARDS.get(""))(agent), told: note,
  }),
  "agent.sandbox.started": ({ seconds, phases = {} }) => ({
    look: "slim", icon: "box", fact: ["Sandbox ready", phasesInWords(phases)].filter(Boolean).join(": "),
    facts: seconds ? { seconds } : null,
  }),
  "agent.sandbox.files_copied": ({ told }) => ({ look: "notice", icon: "box", fact: told }),
  "agent.sandbox.paused": () => ({
    look: "slim", icon: "box", fact: "Sandbox paused: its processes resume with the next message",
  }),
  "agent.sandbox.resumed": ({ seconds }) => ({
    look: "slim", icon: "box", fact: "Sandbox resumed with its processes",
    facts: seconds ? { seconds } : null,
  }),
  "agent.sandbox.lost": ({ cause }, { agent }) => ({
    look: "notice", tone: "wait", icon: "circle-alert",
    fact: "The sandbox has ended unexpectedly.",
    more: sentence(cause, `Files in the workspace are kept. ${agent} gets a new one at the next command.`),
  }),
  "agent.sandbox.removed": ({ kept }) => ({
    look: "slim", icon: "box",
    fact: kept ? "Sandbox ended, files kept" : "Sandbox and files removed",
  }),
  "agent.background.finished": ({ handle, command, exit_code: code, cause, by }) => ({
    look: "slim", icon: "terminal",
    fact: `${handle} (${command}) ${ENDS.get(cause) ?? "ended"}${cause ? "" : ` with exit code ${code ?? "unknown"}`}${cause === "cancelled" && by ? ` by ${by}` : ""}`,
  }),
  "agent.mcp.unavailable": ({ server, error }) => ({
    look: "notice", tone: "wait", icon: "circle-alert",
    fact: `The MCP server ${server} is unavailable.`,
    more: sentence(error, "The agent goes on without its tools. It is tried again later."),
  }),
  "agent.mcp.available": ({ server }) => ({
    look: "slim", icon: "check", fact: `The MCP server ${server} is there again`,
  }),
  "agent.file.changed": ({ by, path, count = 1 }) => ({
    look: "slim", icon: "paperclip", fact: `${by || "Somebody"} uploaded ${count > 1 ? `${count} files` : path}`,
  }),
  "agent.repository.cloned": ({ repository, branch, setup }) => ({
    look: "slim", icon: "git-branch",
    fact: [`Cloned ${repository} at ${branch}`, setup?.split("\n", 1)[0].replace(" Its output:", "")].filter(Boolean).join(". "),
  }),
  "agent.repository.unavailable": ({ repository, problem }) => ({
    look: "notice", tone: "wait", icon: "git-branch",
    fact: `Could not clone ${repository}.`,
    more: sentence(problem, "The agent begins without it, and can try again."),
  }),
  "agent.repository.pushed": ({ repository, branch, commit }) => ({
    look: "slim", icon: "git-branch", fact: `Pushed ${branch} of ${repository} at ${(commit ?? "").slice(0, 10)}`,
  }),
  "agent.pull_request.opened": ({ repository, number, base }) => ({
    look: "slim", icon: "git-branch", fact: `Opened pull request #${number} of ${repository} into ${base}`,
  }),
  "agent.pull_request.changed": ({ repository, number, state, by }) => ({
    look: "slim", icon: "git-branch",
    fact: `Pull request #${number} of ${repository} was ${state === "open" ? "reopened" : state}${by ? ` by ${by}` : ""}`,
  }),
}));

// Ends of background commands that are no ends of their own.
const ENDS = new Map([
  ["timed_out", "reached its time limit"], ["cancelled", "was stopped"], ["out_of_memory", "ran out of memory"],
  ["disk_full", "filled the workspace"], ["too_many_processes", "started too many processes"], ["lost", "was lost with its sandbox"],
]);

function approvalEnd(type, icon = "shield") {
  return (data) => ({ look: "slim", icon, fact: endInWords(type, data) });
}

const GUARDS = new Map([
  ["text_tool_call", (agent) => `${agent} wrote a tool call as text, and was told to call the tool`],
  ["repeated_step", (agent) => `${agent} repeated a step, and was told to try something else`],
  ["promised_work", (agent) => `${agent} announced work and did none, and was told to do it`],
  ["only_reasoning", (agent) => `${agent} gave no answer after its reasoning, and was asked for it`],
  ["", (agent) => `${agent} was told to go on in another way`],
]);

/** The text of a note of the log, or null for a type that has none here. */
export function noteInWords({ type, data }, context) {
  return NOTES.get(type)?.(data, context) ?? null;
}

export function retryInWords({ cause, attempt, answered }) {
  if (answered) return `The model answered at attempt ${answered}`;
  return `The model did not answer at attempt ${attempt}: ${cause}`;
}

// --- the end of a turn ----------------------------------------------------------------------------

/** "3 steps". */
export function steps(count) {
  return count === 1 ? "1 step" : `${count} steps`;
}

/** The label of the button that lets a conversation go on: at a limit it says what the click gives. */
export function resumeLabel({ type, data }) {
  if (type === "agent.conversation.failed" || data.reason === "parked") return "Try again";
  if (SHARED_BUDGETS.includes(data.budget)) return "Continue";
  return data.limit ? `Continue with another ${portion(data.reason, data.limit)}` : "Continue";
}

// --- small parts ----------------------------------------------------------------------------------

function sentence(...parts) {
  return parts.filter(Boolean).map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`)).join(" ");
}

const UNITS = new Map([["step_limit", "steps"], ["token_budget", "tokens"], ["time_limit", "seconds"]]);

function amount(which, value) {
  const count = value.toLocaleString("en");
  if (which === "cost_budget") return `$${value.toFixed(2)}`;
  return UNITS.has(which) ? `${count} ${UNITS.get(which)}` : count;
}

/** What a click gives once more: "2.00 dollars", "10 minutes", "1 step". */
function portion(which, value) {
  if (which === "cost_budget") return `${value.toFixed(2)} dollars`;
  const inMinutes = which === "time_limit" && value % 60 === 0;
  const [count, unit] = inMinutes ? [value / 60, "minutes"] : [value, UNITS.get(which) ?? ""];
  return `${count.toLocaleString("en")} ${count === 1 ? unit.slice(0, -1) : unit}`.trim();
}

function amountLeft(which, left) {
  if (which === "step_limit" && left === 1) return "1 step left";
  return `${amount(which, left)} left`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
