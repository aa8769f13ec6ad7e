// The timeline of a task as rows: activity in words, comments in their threads, and the runs of agents.
// Pure: it knows no DOM, no clock and no network.

const GROUP_MS = 10 * 60 * 1000;

/**
 * The rows, oldest first: {kind: "activity", actor, at, phrases}, {kind: "comment", comment, answers} or
 * {kind: "run", run}. Activities of one actor within ten minutes are one row. `shown` is all, comments or runs.
 */
export function timelineRows({ activity, threads: found, runs }, shown = "all") {
  const threads = found.map((thread) => ({ kind: "comment", at: thread.comment.created_at, ...thread }));
  if (shown === "comments") return threads;
  const runRows = runs.map((run) => ({ kind: "run", at: run.created_at, run }));
  if (shown === "runs") return sorted(runRows);
  const started = new Set(runs.map(({ id }) => id));
  // The card of a run stands for the entry that it was started.
  const entries = activity.filter(({ kind, conversation }) => kind !== "agent.session.started" || !started.has(conversation));
  return grouped(sorted([...entries.map(activityRow), ...threads, ...runRows]));
}

function sorted(rows) {
  return [...rows].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
}

function activityRow({ id, kind, actor, at, changes, conversation }) {
  return { kind: "activity", key: id, actor, at, conversation, phrases: phrasesOf(kind, changes ?? []) };
}

function grouped(rows) {
  const result = [];
  for (const row of rows) {
    const last = result.at(-1);
    const together = last?.kind === "activity" && row.kind === "activity" && last.actor?.id === row.actor?.id
      && Date.parse(row.at) - Date.parse(last.at) < GROUP_MS;
    if (together) result[result.length - 1] = { ...last, phrases: [...last.phrases, ...row.phrases] };
    else result.push(row);
  }
  return result;
}

const KINDS = new Map(Object.entries({
  "task.created": "created the task",
  "task.deleted": "deleted the task",
  "task.restored": "restored the task",
  "doc.created": "created the doc",
  "doc.deleted": "deleted the doc",
  "doc.restored": "restored an earlier version",
  "agent.session.started": "started to work",
  "agent.session.stopped": "stopped the agent’s work",
}));

const FIELDS = new Map(Object.entries({
  status: "status", priority: "priority", title: "title", assignees: "assignees", labels: "labels", sprint: "sprint",
  type: "type", parent: "parent", blocked_by: "dependencies", story_points: "story points", start_date: "start date",
  due_date: "due date", reporter: "owner", attachment: "attachment",
}));

/** An entry as phrases: [{verb, from, to}], which the page shows with the values set off. */
export function phrasesOf(kind, changes) {
  if (KINDS.has(kind)) return [{ verb: KINDS.get(kind) }];
  if (kind === "task.attachment.added") return changes.map(({ new: name }) => ({ verb: "attached", to: name }));
  if (kind === "task.attachment.removed") return changes.map(({ old }) => ({ verb: "removed the attachment", to: old }));
  if (kind === "pull_request.merged") return changes.map(({ new: name }) => ({ verb: "was told of the merge of", to: name }));
  if (kind === "pull_request.closed") return changes.map(({ new: name }) => ({ verb: "was told of the end, without a merge, of", to: name }));
  const phrases = changes.map(({ field, old, new: now }) => phraseOf(field, old, now));
  return phrases.length ? phrases : [{ verb: "changed it" }];
}

function phraseOf(field, old, now) {
  if (field === "description" || field === "text") return { verb: `changed the ${field}` };
  const name = FIELDS.get(field) ?? field;
  if (Array.isArray(old) || Array.isArray(now)) return listPhrase(field, name, old ?? [], now ?? []);
  if (now === null || now === "" || now === undefined) return { verb: `removed the ${name}`, from: text(old) };
  return { verb: `set ${name} to`, to: text(now), from: old === null || old === "" ? undefined : text(old) };
}

function listPhrase(field, name, old, now) {
  const added = now.filter((each) => !old.includes(each));
  const removed = old.filter((each) => !now.includes(each));
  if (field === "assignees" && added.length && !removed.length) return { verb: "assigned", to: added.join(", ") };
  if (field === "assignees" && removed.length && !added.length) return { verb: "unassigned", to: removed.join(", ") };
  if (added.length && !removed.length) return { verb: `added ${name}`, to: added.join(", ") };
  if (removed.length && !added.length) return { verb: `removed ${name}`, to: removed.join(", ") };
  return { verb: `set ${name} to`, to: now.join(", ") || "none" };
}

function text(value) {
  return typeof value === "object" && value !== null ? (value.name ?? JSON.stringify(value)) : String(value);
}
