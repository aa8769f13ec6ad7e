// The texts of tool calls while they wait, run and are finished: a table with one line for each tool.
// A tool that is not in the table is shown by its own name.

const TABLE = new Map(Object.entries({
  bash: { icon: "terminal", verbs: ["Run", "Running", "Ran"], body: "command" },
  read_file: { icon: "file", verbs: ["Read", "Reading", "Read"], unit: "file" },
  write_file: { icon: "file-plus", verbs: ["Write", "Writing", "Wrote"], body: "change" },
  edit_file: { icon: "file-pen-line", verbs: ["Edit", "Editing", "Edited"], body: "change" },
  list_directory: { icon: "folder-git-2", verbs: ["List", "Listing", "Listed"], unit: "folder" },
  search_files: { icon: "file-search", verbs: ["Search", "Searching", "Searched"], unit: "search" },
  git_status: { icon: "git-branch", verbs: ["Check", "Checking", "Checked"], what: "git status" },
  git_diff: { icon: "file-diff", verbs: ["Compare", "Comparing", "Compared"], what: "git diff", body: "diff" },
  git_log: { icon: "history", verbs: ["Read", "Reading", "Read"], what: "git log" },
  search_project: { icon: "search", verbs: ["Search", "Searching", "Searched"], unit: "search" },
  read_project: { icon: "layout-dashboard", verbs: ["Look at", "Looking at", "Looked at"], what: "the project" },
  list_tasks: { icon: "layout-dashboard", verbs: ["List", "Listing", "Listed"], what: "tasks" },
  read_task: { icon: "file", verbs: ["Read", "Reading", "Read"], unit: "task" },
  create_task: { icon: "plus", verbs: ["Create task", "Creating task", "Created task"] },
  update_task: { icon: "pencil", verbs: ["Change", "Changing", "Changed"], unit: "task" },
  add_comment: { icon: "message-square", verbs: ["Comment on", "Commenting on", "Commented on"] },
  list_docs: { icon: "folder-git-2", verbs: ["List", "Listing", "Listed"], what: "docs" },
  read_doc: { icon: "file", verbs: ["Read", "Reading", "Read"], unit: "doc" },
  create_doc: { icon: "file-plus", verbs: ["Create doc", "Creating doc", "Created doc"] },
  update_doc: { icon: "file-pen-line", verbs: ["Change", "Changing", "Changed"], unit: "doc" },
  save_attachment: { icon: "download", verbs: ["Save", "Saving", "Saved"] },
  list_skills: { icon: "file-search", verbs: ["List", "Listing", "Listed"], what: "skills" },
  read_skill: { icon: "file", verbs: ["Open", "Opening", "Opened"], what: "skill" },
  write_todo_list: { icon: "circle-check", verbs: ["Write", "Writing", "Wrote"], what: "the to-do list:" },
  ask_person: { icon: "circle-help", verbs: ["Ask", "Asking", "Asked"] },
  propose_plan: { icon: "list-checks", verbs: ["Propose", "Proposing", "Proposed"], what: "a plan:" },
  update_plan: { icon: "circle-check", verbs: ["Mark", "Marking", "Marked"], unit: "step" },
  delegate: { icon: "users", verbs: ["Delegate", "Delegating", "Delegated"] },
  background_run: { icon: "terminal", verbs: ["Start", "Starting", "Started"], body: "command" },
  check_background: { icon: "terminal", verbs: ["Check", "Checking", "Checked"], what: "background" },
  stop_background: { icon: "circle-stop", verbs: ["Stop", "Stopping", "Stopped"], what: "background" },
  list_repositories: { icon: "git-branch", verbs: ["List", "Listing", "Listed"], what: "repositories" },
  clone_repository: { icon: "git-branch", verbs: ["Clone", "Cloning", "Cloned"] },
  push_branch: { icon: "git-branch", verbs: ["Push", "Pushing", "Pushed"] },
  create_pull_request: { icon: "git-branch", verbs: ["Open", "Opening", "Opened"], what: "a pull request of" },
  think: { icon: "brain", verbs: ["Think", "Thinking", "Thought"], body: "thought" },
}));

const UNKNOWN_TOOL = { icon: "plug", verbs: ["Call", "Calling", "Called"] };

const VERB_INDEX = new Map([["queued", 0], ["waiting", 0], ["running", 1]]); // of other states: 2

export function toolOf(entry) {
  return TABLE.get(entry.tool) ?? { ...UNKNOWN_TOOL, what: entry.tool, body: "unknown" };
}

/** "Running", "Ran", "Stopped", "Did not run". */
export function verb(entry) {
  if (entry.state === "stopped") return entry.startedAt ? "Stopped" : "Did not run";
  if (entry.state === "denied") return "Did not run";
  return toolOf(entry).verbs[VERB_INDEX.get(entry.state) ?? 2];
}

/** The object of the verb: a path, a command, or the tool's own name. */
export function what(entry) {
  const { what: fixed = "" } = toolOf(entry);
  return [fixed, entry.subject].filter(Boolean).join(" ") || (TABLE.has(entry.tool) ? "" : entry.tool);
}

/** "Running pytest -q", for the line that shows the present activity. */
export function phrase(entry) {
  return `${verb(entry)} ${what(entry)}`.trim();
}

const CAUSES = new Map(Object.entries({
  timed_out: "timed out",
  out_of_memory: "out of memory",
  disk_full: "disk full",
  too_many_processes: "too many processes",
  invalid: "wrong arguments",
  unknown_tool: "no such tool",
  sandbox_lost: "sandbox lost",
  failed: "failed",
}));

/** The state at the right end of a card: tone, icon and text. */
export function outcome(entry) {
  switch (entry.state) {
    case "queued": return { tone: "queued", icon: "circle-dashed", text: "Waiting for its turn" };
    case "waiting": return { tone: "waiting", icon: "hand", text: "Needs you" };
    case "running": return { tone: "running", icon: "loader-circle", text: "Running" };
    case "stopped": return { tone: "stopped", icon: "circle-stop", text: "Stopped" };
    case "denied": return { tone: "stopped", icon: "shield", text: entry.cause === "denied" ? "Not approved" : "Refused" };
    case "unknown": return { tone: "waiting", icon: "circle-help", text: "Outcome unknown" };
    case "failed": return { tone: "failed", icon: "circle-x", text: failure(entry) };
    default: return { tone: "finished", icon: "check", text: "" };
  }
}

function failure({ cause, exit_code: exit }) {
  if (CAUSES.has(cause)) return CAUSES.get(cause);
  return exit == null ? "failed" : `exit ${exit}`;
}

const SIGNALS = new Map([[130, "INT"], [137, "KILL"], [139, "SEGV"], [141, "PIPE"], [143, "TERM"]]);

/** A line under the output that explains the result; empty if there is nothing to explain. */
export function reading(entry, agent) {
  const read = `${agent} has read this and continues.`;
  const { cause, exit_code: exit, state, seconds } = entry;
  if (state === "unknown") {
    return "It is unknown whether this finished. It was not run again; check the result if it matters.";
  }
  if (cause === "timed_out") return `Ended at its time limit after ${Math.round(seconds)} s. The output up to then is kept.`;
  if (cause === "out_of_memory") return "The sandbox ran out of memory. The command was ended; files are kept.";
  if (cause === "too_many_processes") return "It started more processes than the sandbox allows. The command was ended.";
  if (cause === "disk_full") return "The workspace is full. Remove files, or raise the limit.";
  if (cause === "invalid") return `The arguments did not fit the tool, so nothing was run. ${read}`;
  if (cause === "unknown_tool") return `${agent} called a tool that it does not have, so nothing was run. ${read}`;
  if (cause === "refused") return "Nothing was run.";
  if (state !== "failed" || exit == null) return "";
  if (exit === 127) return `Exit code 127: the command was not found. ${read}`;
  if (exit === 126) return `Exit code 126: the file is not executable. ${read}`;
  if (SIGNALS.has(exit)) return `Exit code ${exit}: ended by signal ${SIGNALS.get(exit)}. ${read}`;
  return `Exit code ${exit}. ${read}`;
}

/** "Read 5 files, searched twice": several finished reads as one line. */
export function groupInWords(entries) {
  const counts = new Map();
  for (const entry of entries) counts.set(entry.tool, (counts.get(entry.tool) ?? 0) + 1);
  const parts = [...counts].map(([tool, count]) => counted(tool, count));
  const text = parts.join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function counted(tool, count) {
  const { verbs, unit, what: fixed } = TABLE.get(tool) ?? { verbs: ["", "", "called"], what: tool };
  const done = verbs[2].toLowerCase();
  const often = count === 1 ? "" : ` ${times(count)}`;
  if (unit === "search") return `${done}${count === 1 ? " once" : often}`;
  if (unit) return `${done} ${count} ${unit}${count === 1 ? "" : "s"}`;
  return `${done} ${fixed ?? ""}`.trim() + often;
}

function times(count) {
  return count === 2 ? "twice" : `${count} times`;
}
