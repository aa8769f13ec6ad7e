// Recorded frames for the style guide: every kind of row and every state of a tool card.

import { HOSTILE } from "./hostile.js";

const START = Date.parse("2026-01-05T12:36:00Z");
export const ADA = { id: "member-ada", name: "Ada Okafor", kind: "human" };
export const ROSA = { id: "agent-rosa", name: "Rosa", kind: "agent" };

/** Frames of `[type, data]` pairs, five seconds apart; a live one is marked by `live`. */
export function framesOf(events, { first = 1, start = START } = {}) {
  let seq = first - 1;
  return events.map(([type, data = {}, live = false], index) => ({
    type: `agent.${type}`,
    seq: live ? null : (seq += 1),
    at: new Date(start + index * 5000).toISOString(),
    source: "agent",
    turn: 1,
    data,
  }));
}

const call = (id, tool, args, subject, effect = "opaque") =>
  ["tool.called", { call_id: id, tool, arguments: args, subject, effect, model_call_id: "" }];
const started = (id) => ["tool.started", { call_id: id, boot_id: "b" }];
const returned = (id, output, more = {}) =>
  ["tool.returned", { call_id: id, output, failed: false, exit_code: 0, seconds: 0.4, truncated: false, file: "", cause: "", ...more }];
const bash = (id, command) => [call(id, "bash", { command }, command), started(id)];

const DIFF = `Edited billing/totals.py: 3 lines added, 2 lines removed.
--- a/billing/totals.py
+++ b/billing/totals.py
@@ -31,6 +31,7 @@ def totals(invoice)
 def totals(invoice: Invoice) -> Totals:
     net = sum(line.net for line in invoice.lines)
-    tax = sum(round_cent(line.net * line.rate)
-              for line in invoice.lines)
+    tax = round_cent(sum(line.net * line.rate
+                         for line in invoice.lines))
+    allocate_tax(invoice.lines, tax)
     return Totals(net=net, tax=tax)`;

const FAILED_TESTS = `tests/billing/test_totals.py \u001b[31mF\u001b[0m
E   AssertionError: Decimal("118.41") != Decimal("118.40")
E   INV-20871: sum of line taxes vs. tax of the sum
1 failed, 41 deselected in 7.93s`;

/** Each state of a tool card, in the order of the design's table. */
export const TOOL_STATES = framesOf([
  call("queued", "bash", { command: "make lint" }, "make lint"),
  ...bash("running", "make build"),
  ["tool.progressed", { call_id: "running", offset: 0, text: "cc -c main.c\ncc -c list.c\n" }, true],
  ...bash("done", "git status --short"), returned("done", " M billing/totals.py"),
  ...bash("failed", "make test"), returned("failed", "make: *** No rule to make target 'test'.  Stop.", { failed: true, exit_code: 2, seconds: 12 }),
  ...bash("late", "pytest -x"), returned("late", "collected 412 items\n", { failed: true, exit_code: null, seconds: 60, cause: "timed_out" }),
  ...bash("memory", "python load.py"), returned("memory", "", { failed: true, exit_code: 137, seconds: 8, cause: "out_of_memory" }),
  ...bash("stopped", "pytest -q"), returned("stopped", "Output until then:\n....", { failed: true, exit_code: null, seconds: 72, cause: "cancelled" }),
  call("refused", "bash", { command: "docker ps" }, "docker ps"), returned("refused", "Commands cannot run on this server.", { failed: true, exit_code: null, seconds: 0, cause: "refused" }),
  ...bash("unknown", "./deploy.sh staging"), ["tool.outcome_unknown", { call_id: "unknown", output: "The worker was lost while this ran.", reason: "worker_lost" }],
  call("wrong", "read_file", { pth: "x" }, ""), returned("wrong", "path: Field required.", { failed: true, exit_code: null, cause: "invalid", seconds: 0 }),
  ...bash("cut", "seq 100000"), returned("cut", "1\n2\n3\n… 99,994 lines left out …\n99999\n100000", { truncated: true, file: "/tmp/paca/out-17.txt", seconds: 1.2 }),
  call("edit", "edit_file", { path: "billing/totals.py" }, "billing/totals.py"), started("edit"), returned("edit", DIFF),
  call("write", "write_file", { path: "hello.py", content: "print('hello')\n" }, "hello.py"), started("write"), returned("write", "Created hello.py: 1 line, 15 B."),
  call("other", "weather_report", { city: "Lima" }, ""), started("other"), returned("other", "18 °C"),
  call("image", "mcp__browser__screenshot", { page: "/" }, "/"), started("image"),
  returned("image", "[image 1: GIF, 35 bytes]", { images: [{ kind: "image/gif", data: "R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=" }] }),
]);

/** One of each other kind of row. */
export const OTHER_ROWS = framesOf([
  ["message.received", { text: "Some invoice totals are one cent off, for example INV-20871.\nFind out why.", author_id: ADA.id, author_name: ADA.name }],
  ["conversation.queued", { trigger: "chat_message", by: ADA.name }],
  ["conversation.started", { model: "anthropic/claude-sonnet", demo: false }],
  ["turn.started", { number: 1, triggers: [] }],
  ["sandbox.starting", { backend: "bubblewrap" }],
  ["sandbox.started", { backend: "bubblewrap", boot_id: "b", seconds: 0.3 }],
  ["thought.recorded", { text: "The sum of rounded lines differs from the rounded sum.", call_id: "t1", seconds: 6 }],
  call("r1", "read_file", { path: "a" }, "billing/totals.py", "read_only"), returned("r1", "…"),
  call("r2", "read_file", { path: "b" }, "billing/models.py", "read_only"), returned("r2", "…"),
  call("r3", "search_files", { pattern: "quantize" }, "quantize", "read_only"), returned("r3", "…"),
  ["model.retried", { call_id: "m1", attempt: 1, wait_seconds: 8, cause: "529, overloaded" }],
  ["usage.recorded", { call_id: "m2", model: "x", attempt: 2, outcome: "done", input: 12400, output: 310, cost_usd: 0.04, seen_seq: 1 }],
  ["message.spoken", { call_id: "m2", text: MARKDOWN(), model: "anthropic/claude-sonnet" }],
  ["context.compaction_requested", { focus: "the totals", by: ADA.name }],
  ["context.compacting", { part: 1, parts: 1 }],
  ["context.compacted", { summary: "**Asked:** why totals are one cent off.", carried: "What was asked first:\nSome invoice totals are one cent off.", upto_seq: 9, tokens_before: 148000, tokens_after: 21000, model: "anthropic/claude-sonnet" }],
  ["limit.neared", { which: "step_limit", left: 2 }],
  ["message.discarded", { call_id: "m3", cause: "cancelled", text: "And in the next step I will" }],
  ["conversation.interrupted", { by: ADA.name }],
  ["sandbox.lost", { cause: "It ran out of memory" }],
  ["mcp.unavailable", { server: "web", error: "it answers HTTP 503" }],
  ["mcp.available", { server: "web" }],
  ["repository.cloned", { repository_id: "r1", repository: "shop", branch: "main", commit: "4f1c2d9e8b7a", path: "/workspace/shop" }],
  ["repository.unavailable", { repository_id: "r2", repository: "docs", problem: "git.example.org does not answer." }],
  ["repository.pushed", { repository_id: "r1", repository: "shop", branch: "fix-totals", commit: "9b8a7c6d5e4f" }],
  ["pull_request.opened", { repository_id: "r1", repository: "shop", branch: "fix-totals", base: "main", number: 7, url: "https://git.example.org/team/shop/pulls/7", title: "Fix totals" }],
  ["pull_request.changed", { repository_id: "r1", repository: "shop", branch: "fix-totals", number: 7, url: "https://git.example.org/team/shop/pulls/7", state: "merged", by: ADA.name }],
  ["conversation.forked", { conversation_id: "c1", seq: 9, title: "Invoice totals", by: ADA.name, files: "later" }],
  ["sandbox.files_copied", { conversation_id: "c1", backend: "docker", copied_at: "2026-03-02T09:12:00+00:00", files: 14, bytes: 2100000, commands_since: 3, changed: 1, told: "Copied 14 files and folders as they were at 09:12 UTC. 3 commands and edits ran there after the point of the fork." }],
  ["sandbox.files_copied", { conversation_id: "c1", error: "the other conversation was deleted before its files were copied", told: "The fork goes on without files: the other conversation was deleted before its files were copied." }],
  ["conversation.resumed", { worker: "w2" }],
  ["turn.finished", { number: 1, status: "paused", reason: "step_limit", steps: 7 }],
  ["moon.risen", { phase: "full" }],
  ["conversation.stopped", { reason: "by_person", by: ADA.name }],
  ["conversation.failed", { code: "configuration", message: "Anthropic refused the key (401).", next_step: "Replace the key of Rosa, which ends in 4f2a, then press Try again." }],
  ["conversation.paused", { reason: "step_limit", detail: "The limit is 50." }],
]);

function MARKDOWN() {
  return `Reproduced. Tax is rounded **per line** and then added up, while the totals row rounds the sum **once**:

| Where | Net | Tax |
|---|--:|--:|
| Line items, added up | 99.50 | 18.91 |
| Totals row | 99.50 | 18.90 |

- \`Invoice.total\` stays a stored column.
- Only drafts use the new function, see [the notes](https://example.org/notes).

\`\`\`python
def allocate_tax(lines, tax: Decimal) -> None:
    """The rest goes to the largest line."""
    rest = tax  # shrinks line by line
\`\`\`

> Invoices we have already sent keep their totals.`;
}

export const HOSTILE_ROWS = framesOf([
  ["conversation.started", { model: HOSTILE[0], demo: false }],
  ...HOSTILE.flatMap((text, index) => [
    ["message.received", { text, author_id: "", author_name: text }],
    ["message.spoken", { text, call_id: `h${index}`, model: text }],
    ["thought.recorded", { text, call_id: `h${index}`, seconds: 1 }],
    call(`h${index}`, text, { [text]: text }, text), started(`h${index}`), returned(`h${index}`, text, { failed: true, exit_code: 1, file: text, truncated: true }),
    ["context.compacted", { summary: text, carried: text, upto_seq: 1, tokens_before: 9, tokens_after: 3, model: text }],
    ["context.compaction_requested", { focus: text, by: text }],
    ["conversation.failed", { code: text, message: text, next_step: text }],
    [text, { [text]: text }],
  ]),
]);

/** A whole conversation with its live frames, for the player. */
export const RUN = [
  ["message.received", { text: "Find out why INV-20871 is one cent off, and fix it.", author_id: ADA.id, author_name: ADA.name }],
  ["title.changed", { title: "Invoice totals are one cent off" }],
  ["conversation.queued", { trigger: "chat_message", by: ADA.name }],
  ["conversation.started", { model: "anthropic/claude-sonnet", demo: false }],
  ["turn.started", { number: 1, triggers: [] }],
  ...spoken("a", "I’ll reproduce it with INV-20871 first, then look at where the rounding happens."),
  call("1", "read_file", { path: "billing/totals.py" }, "billing/totals.py", "read_only"), started("1"), returned("1", "31  def totals(invoice): …"),
  call("2", "search_files", { pattern: "quantize" }, "quantize", "read_only"), started("2"), returned("2", "billing/models.py:12"),
  ...bash("3", "pytest tests/billing -q -k 20871"),
  ["tool.progressed", { call_id: "3", offset: 0, text: "tests/billing/test_totals.py " }, true],
  ["tool.progressed", { call_id: "3", offset: 29, text: "F\n" }, true],
  returned("3", FAILED_TESTS, { failed: true, exit_code: 1, seconds: 8.4 }),
  ...spoken("b", MARKDOWN()),
  call("4", "edit_file", { path: "billing/totals.py" }, "billing/totals.py"), started("4"), returned("4", DIFF),
  ...bash("5", "pytest -q"),
  ["tool.progressed", { call_id: "5", offset: 0, text: "tests/accounts ....................................... [ 18%]\n" }, true],
  ["tool.progressed", { call_id: "5", offset: 62, text: "tests/billing  ............................................ [ 47%]\n" }, true],
  ["message.received", { text: "Also add a line to the changelog", author_id: ADA.id, author_name: ADA.name, on_busy: "queue" }],
];

function spoken(id, text) {
  const pieces = text.match(/\S+\s*/g);
  let offset = 0;
  const live = pieces.map((piece) => {
    const frame = ["text.streamed", { call_id: id, offset, text: piece }, true];
    offset += [...piece].length;
    return frame;
  });
  const usage = { call_id: id, model: "x", attempt: 1, outcome: "done", input: 3100, output: 90, cost_usd: 0.01, seen_seq: 1, cache_read: 0, cache_write: 0 };
  return [...live, ["usage.recorded", usage], ["message.spoken", { call_id: id, text, model: "anthropic/claude-sonnet" }]];
}
