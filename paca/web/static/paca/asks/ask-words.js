// The words of a call that waits for a person. Pure functions.

const TITLES = new Map(Object.entries({
  bash: "run a command", write_file: "write a file", edit_file: "change a file",
}));

/** "Rosa wants to run a command". */
export function titleOf({ tool }, agent) {
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

/** The end of a wait in one line, from its event. */
export function endInWords(type, { decision, by, reason, cause, arguments: changed }) {
  if (type === "agent.approval.expired") return "Nobody decided in time, so it did not run";
  if (type === "agent.approval.superseded") return cause === "message" ? "A message came first, so it did not run" : "Stopped before a decision";
  const said = `${WORDS.get(decision) ?? "Denied"} by ${by || "a person"}`;
  return `${said}${changed ? ", with changes" : ""}${reason ? `: ${reason}` : ""}`;
}

/** What became of an approval, as the API answers a decision. */
export function decidedInWords({ state, decided_by: by, reason }) {
  const who = by?.name ?? "a person";
  if (state === "approved") return `Approved by ${who}.`;
  if (state === "expired") return `${endInWords("agent.approval.expired", {})}.`;
  if (state === "superseded") return `${endInWords("agent.approval.superseded", { cause: reason })}.`;
  return `Denied by ${who}.`;
}
