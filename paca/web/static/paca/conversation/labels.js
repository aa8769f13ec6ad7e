// The words for states, reasons and notices: what happened, what it means, what the next step is.

const STATES = {
  queued: { label: "Queued", icon: "circle-dashed" },
  running: { label: "Working", icon: "loader-circle" },
  waiting: { label: "Needs you", icon: "hand" },
  paused: { label: "Paused", icon: "pause" },
  finished: { label: "Done", icon: "circle-check" },
  failed: { label: "Failed", icon: "circle-x" },
  stopped: { label: "Stopped", icon: "circle-stop" },
};

const BECAUSE = {
  by_person: "by a person",
  step_limit: "step limit",
  token_budget: "token limit",
  cost_budget: "cost limit",
  time_limit: "time limit",
  rate_limited: "rate limit",
  model_unavailable: "model unavailable",
  stuck: "no progress",
  parked: "parked",
  configuration: "settings",
  model_refused: "model refused",
  sandbox: "sandbox",
  sandbox_error: "sandbox",
  internal: "fault in Paca",
  agent_removed: "agent retired",
  project_paused: "project paused",
};

/** Label, icon and tone of a conversation's status; `because` is the reason in two words. */
export function stateOf({ status, reason = "" }) {
  const state = STATES[status] ?? { label: status, icon: "circle-help" };
  const because = ["waiting", "paused", "failed", "stopped"].includes(status) ? (BECAUSE[reason] ?? "") : "";
  return { ...state, tone: status, because };
}

/** What the agent does right now, as a phrase after its name. */
export function activityOf(state, toolPhrase) {
  if (state.stopping) return "Stopping";
  if (state.status === "queued") return "Waiting for a worker";
  if (state.sandbox) return "Starting the sandbox";
  if (state.retry) return "Waiting to ask the model again";
  if (toolPhrase) return toolPhrase;
  const newest = [...state.live.values()].at(-1);
  return newest?.kind === "said" ? "Writing" : "Thinking";
}

// --- notices --------------------------------------------------------------------------------------

const PAUSED = {
  by_person: ({ by }) => `Paused by ${by || "a person"}.`,
  step_limit: () => "Paused at the step limit of one turn.",
  token_budget: () => "Paused at the token limit.",
  cost_budget: () => "Paused at the cost limit.",
  time_limit: () => "Paused at the time limit of one turn.",
  rate_limited: () => "The model's provider limits how often it may be asked.",
  model_unavailable: () => "The model does not answer.",
  stuck: () => "Paused: the same step was tried again and again.",
  parked: () => "Parked: this step came to nothing again and again.",
};

const HOW_ON = {
  stuck: "Nothing is lost. Write what to try instead, or continue to let it try again.",
  parked: "Try again, drop it, or write a message to go on another way.",
};

const NOTES = {
  "agent.conversation.paused": (data) => ({
    look: "notice", tone: "hold", icon: "pause",
    fact: (PAUSED[data.reason] ?? (() => "Paused."))(data),
    more: sentence(data.detail, HOW_ON[data.reason] ?? "Nothing is lost. Continue, or write a message to go on."),
  }),
  "agent.conversation.failed": ({ code, message, next_step: next }, { agent }) => ({
    look: "notice", tone: "bad", icon: "circle-x",
    fact: message || `${agent} could not go on (${code}).`,
    more: next,
  }),
  "agent.conversation.stopped": ({ by, reason }) => ({
    look: "divider",
    fact: reason === "by_person" ? `Stopped by ${by || "a person"}` : `Stopped: ${BECAUSE[reason] ?? reason}`,
  }),
  "agent.conversation.interrupted": ({ by }) => ({
    look: "divider", fact: `Interrupted by ${by || "a person"}`,
  }),
  "agent.conversation.waiting": ({ detail }, { agent }) => ({
    look: "notice", tone: "wait", icon: "hand",
    fact: "The sandbox cannot be reached for now.",
    more: sentence(detail, `Nothing is lost. ${agent} goes on by itself as soon as it can.`),
  }),
  "agent.conversation.resumed": ({ waited_for: waitedFor }) => ({
    look: "slim", icon: "rotate-ccw",
    fact: waitedFor
      ? "The sandbox can be reached again"
      : "The worker was lost; another one has taken over. Nothing stored is lost",
  }),
  "agent.limit.neared": ({ which, left }) => ({
    look: "slim", icon: "gauge", fact: `${amountLeft(which, left)}, wrapping up`,
  }),
  "agent.limit.reached": ({ which, limit }) => ({
    look: "slim", icon: "gauge", fact: `${capital(BECAUSE[which] ?? which)} reached: ${amount(which, limit)}`,
  }),
  "agent.guard.noticed": ({ note }) => ({
    look: "slim", icon: "circle-alert", fact: note,
  }),
  "agent.sandbox.started": ({ seconds }) => ({
    look: "slim", icon: "box", fact: "Sandbox ready",
    facts: seconds ? { seconds } : null,
  }),
  "agent.sandbox.paused": () => ({
    look: "slim", icon: "box", fact: "Sandbox paused: what runs in it goes on with the next message",
  }),
  "agent.sandbox.resumed": ({ seconds }) => ({
    look: "slim", icon: "box", fact: "Sandbox resumed where it stood",
    facts: seconds ? { seconds } : null,
  }),
  "agent.sandbox.lost": ({ cause }, { agent }) => ({
    look: "notice", tone: "wait", icon: "circle-alert",
    fact: "The sandbox is gone.",
    more: sentence(cause, `Files in the workspace are kept. ${agent} gets a new one at the next command.`),
  }),
  "agent.sandbox.removed": ({ kept }) => ({
    look: "slim", icon: "box",
    fact: kept ? "Sandbox ended, files are kept" : "Sandbox and files removed",
  }),
};

/** How a note of the log is shown, or null for a type that has no words here. */
export function noteInWords({ type, data }, context) {
  return NOTES[type]?.(data, context) ?? null;
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

// --- small parts ----------------------------------------------------------------------------------

function sentence(...parts) {
  return parts.filter(Boolean).map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`)).join(" ");
}

function amount(which, value) {
  const count = value.toLocaleString("en");
  const units = { step_limit: "steps", token_budget: "tokens", time_limit: "seconds" };
  if (which === "cost_budget") return `$${value.toFixed(2)}`;
  return units[which] ? `${count} ${units[which]}` : count;
}

function amountLeft(which, left) {
  if (which === "step_limit" && left === 1) return "1 step left";
  return `${amount(which, left)} left`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
