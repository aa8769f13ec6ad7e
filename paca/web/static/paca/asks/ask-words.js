// The words of what waits for a person. Pure functions.

/** Where each kind stands in the API. */
export const PLACES = new Map([["approval", "approvals"], ["question", "questions"], ["plan", "plans"]]);

const TITLES = new Map(Object.entries({
  bash: "run a command", write_file: "write a file", edit_file: "change a file",
}));

/** "Rosa wants to run a command". */
export function titleOf({ kind, tool }, agent) {
  if (kind === "question") return `${agent} asks`;
  if (kind === "plan") return `${agent} has a plan`;
  return `${agent} wants to ${TITLES.get(tool) ?? `use ${tool}`}`;
}

/** The start and the length of the wait, for a countdown. */
export function countdownOf({ requested_at: at, deadline }) {
  return { at, seconds: Math.max(0, (Date.parse(deadline) - Date.parse(at)) / 1000) };
}

/** The lines of a described change; the first one is the path. */
export function diffRows(diff) {
  return diff.split("\n").map((line) => {
    if (line.startsWith("+")) return { kind: "add", sign: "+", text: line.slice(1) };
    if (line.startsWith("-")) return { kind: "del", sign: "−", text: line.slice(1) };
    return { kind: "hunk", sign: "", text: line };
  });
}

const WORDS = new Map([["approve", "Approved"], ["approve_rest", "Approved, with the rest of the conversation,"], ["deny", "Denied"]]);

const NOT_DONE = new Map([["approval", "it did not run"], ["question", "the agent goes on without an answer"], ["plan", "the plan is not approved"]]);
const FIRST = new Map([["message", "A message came first"], ["plan_mode", "Plan mode was switched off first"]]);

/** The end of a wait in one line, from its event. */
export function endInWords(type, { decision, by, reason, cause, kind, text, feedback, arguments: changed, changed: otherSteps }) {
  const not = NOT_DONE.get(kind) ?? NOT_DONE.get("approval");
  if (type === "agent.approval.expired") return `Nobody ${kind === "question" ? "answered" : "decided"} in time, so ${not}`;
  if (type === "agent.approval.superseded") return FIRST.has(cause) ? `${FIRST.get(cause)}, so ${not}` : "Stopped before a decision";
  if (type === "agent.question.answered") return `Answered by ${by || "a person"}: ${text}`;
  if (type === "agent.plan.decided") return `Plan ${decision === "approve" ? "approved" : "rejected"} by ${by || "a person"}${otherSteps ? ", with changed steps" : ""}${feedback ? `: ${feedback}` : ""}`;
  const said = `${WORDS.get(decision) ?? "Denied"} by ${by || "a person"}`;
  return `${said}${changed ? ", with changes" : ""}${reason ? `: ${reason}` : ""}`;
}

/** What became of a request, as the API answers a decision. */
export function decidedInWords({ kind, state, decided_by: by, reason, answer }) {
  const who = by?.name ?? "a person";
  if (state === "approved") return `Approved by ${who}.`;
  if (state === "answered") return `Answered by ${who}: ${answer}`;
  if (state === "expired") return `${endInWords("agent.approval.expired", { kind })}.`;
  if (state === "superseded") return `${endInWords("agent.approval.superseded", { kind, cause: reason })}.`;
  return `${kind === "plan" ? "Rejected" : "Denied"} by ${who}.`;
}
