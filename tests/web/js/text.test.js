import { check, same, test } from "./harness.js";
import { countChanges, parseDiff } from "../../../paca/web/static/paca/core/diff.js";
import { readable, tail, visible } from "../../../paca/web/static/paca/core/terminal.js";
import { costInWords, emptyUsage, addUsage, tokensInWords } from "../../../paca/web/static/paca/conversation/usage.js";
import { noteInWords } from "../../../paca/web/static/paca/conversation/labels.js";
import { groupInWords, outcome, phrase, reading, verb } from "../../../paca/web/static/paca/conversation/tools.js";
import { sendIntentOf, sendable, tooLong } from "../../../paca/web/static/paca/conversation/unsent-words.js";
import { clock, duration } from "../../../paca/web/static/paca/core/time.js";

test("output is shown without control sequences", () => {
  const cases = [
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u001b]0;title\u0007after", "after"],
    ["\u001b]8;;https://x.example\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001b[2J\u001b[Hcleared", "cleared"],
    ["10%\r50%\r100%\ndone", "100%\ndone"],
    ["windows\r\nlines", "windows\nlines"],
    ["long line\rsh", "shng line"],
    ["bell\u0007", "bell\u2407"],
    ["safe\u202egpj.exe", "safe‹U+202E›gpj.exe"],
    ["null\u0000", "null\u2400"],
    ["tab\tand\nline", "tab\tand\nline"],
  ];
  for (const [input, wanted] of cases) same(readable(input), wanted);
});

test("cut escape sequence does not swallow the text", () => {
  check(readable("before \u001b").startsWith("before"));
  same(visible("plain"), "plain");
});

test("the last lines of a long output are kept and the rest is counted", () => {
  same(tail("a\nb\nc\nd", 2), { text: "c\nd", cut: 2 });
  same(tail("a", 2), { text: "a", cut: 0 });
});

test("a diff has its numbers on the right side", () => {
  const rows = parseDiff("Edited x.\n--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@ def f\n same\n-old\n+new\n+more");
  same(rows.map(({ kind, line }) => [kind, line]), [["hunk", ""], ["same", 3], ["del", 4], ["add", 4], ["add", 5]]);
  same(countChanges(rows), { added: 2, removed: 1 });
  same(parseDiff("no diff here"), null);
});

test("tokens that the server does not count are unknown and not zero", () => {
  const untold = { ...emptyUsage(), calls: 2, unpriced: 2 };
  same([tokensInWords(untold), tokensInWords(emptyUsage())], ["tokens unknown", ""]);
});

test("unknown price is never shown as 0", () => {
  const call = { input: 1, output: 1, cost_usd: null };
  same(costInWords(addUsage(emptyUsage(), call)), "Not priced");
  same(costInWords(addUsage(addUsage(emptyUsage(), call), { cost_usd: 0.5 })), "$0.50 and unpriced calls");
  same(costInWords(addUsage(emptyUsage(), { cost_usd: 0.001 })), "under $0.01");
  same(costInWords(emptyUsage()), "");
});

const bash = (facts) => ({ tool: "bash", subject: "make", arguments: {}, cause: "", exit_code: null, seconds: 1, ...facts });

test("tool call states have their own text, icon and tone", () => {
  const table = [
    [bash({ state: "queued" }), "Run", "Waiting for its turn", "queued"],
    [bash({ state: "running" }), "Running", "Running", "running"],
    [bash({ state: "finished", exit_code: 0 }), "Ran", "", "finished"],
    [bash({ state: "failed", exit_code: 2 }), "Ran", "exit 2", "failed"],
    [bash({ state: "failed", cause: "timed_out" }), "Ran", "timed out", "failed"],
    [bash({ state: "failed", cause: "out_of_memory", exit_code: 137 }), "Ran", "out of memory", "failed"],
    [bash({ state: "stopped", startedAt: "x" }), "Stopped", "Stopped", "stopped"],
    [bash({ state: "stopped", startedAt: null }), "Did not run", "Stopped", "stopped"],
    [bash({ state: "denied" }), "Did not run", "Refused", "stopped"],
    [bash({ state: "unknown" }), "Ran", "Outcome unknown", "waiting"],
  ];
  for (const [entry, word, text, tone] of table) {
    same([verb(entry), outcome(entry).text, outcome(entry).tone], [word, text, tone]);
  }
});

test("failed call explains its exit code", () => {
  check(reading(bash({ state: "failed", exit_code: 127 }), "Rosa").includes("not found"));
  check(reading(bash({ state: "failed", exit_code: 143 }), "Rosa").includes("signal TERM"));
  check(reading(bash({ state: "unknown" }), "Rosa").includes("not run again"));
  same(reading(bash({ state: "finished", exit_code: 0 }), "Rosa"), "");
});

test("unknown tool is shown by its name", () => {
  same(phrase({ tool: "weather", state: "running", subject: "" }), "Calling weather");
});

test("call of a tool that the agent does not have is told in words for people", () => {
  const call = { ...bash({ state: "failed", cause: "unknown_tool" }), tool: "constructor" };
  same([verb(call), outcome(call).text], ["Called", "no such tool"]);
  check(reading(call, "Rosa").includes("Rosa called a tool that it does not have"));
});

test("notice to the model is told in words for people", () => {
  const words = (guard) => noteInWords({ type: "agent.guard.noticed", data: { guard, note: "You wrote a call." } }, { agent: "Rosa" });
  for (const guard of ["text_tool_call", "repeated_step", "of tomorrow"]) {
    check(words(guard).fact.startsWith("Rosa "), guard);
    same(words(guard).told, "You wrote a call.");
  }
});

test("calls of tools on the project are told as what they are", () => {
  const said = (tool, state, subject = "PACA-4") => phrase({ tool, state, subject });
  same(
    [said("read_task", "running"), said("add_comment", "finished"), said("update_task", "finished")],
    ["Reading PACA-4", "Commented on PACA-4", "Changed PACA-4"],
  );
  same(said("create_task", "running", "Fix the login"), "Creating task Fix the login");
  same(said("read_project", "finished", ""), "Looked at the project");
  same(groupInWords(["read_task", "read_task", "search_project"].map((tool) => ({ tool }))), "Read 2 tasks, searched once");
});

test("several reads give one line", () => {
  const calls = ["read_file", "read_file", "search_files", "search_files", "git_status", "other"];
  same(groupInWords(calls.map((tool) => ({ tool }))), "Read 2 files, searched twice, checked git status, called other");
});

test("Enter sends, but not during text composition", () => {
  const key = (facts) => sendIntentOf({ key: "Enter", ...facts });
  same([key({}), key({ ctrlKey: true }), key({ metaKey: true })], ["send", "interrupt", "interrupt"]);
  same([key({ shiftKey: true }), key({ isComposing: true }), sendIntentOf({ key: "a" })], ["", "", ""]);
});

test("enter that confirms a word of an input method never sends, also in Safari", () => {
  const safari = { key: "Enter", keyCode: 229, isComposing: false };
  same([sendIntentOf(safari), sendIntentOf({ ...safari, ctrlKey: true }), sendIntentOf({ key: "Enter", keyCode: 13 })], ["", "", "send"]);
});

test("limit of a message counts characters as the server does", () => {
  const [emoji, letter] = ["🦙", "漢"].map((each) => each.repeat(100_000));
  same([tooLong(emoji), tooLong(letter)], ["", ""]);
  same(tooLong(`${letter}x`), "The message is too long. At most 100,000 characters; this has 100,001.");
});

test("half of a surrogate pair is sent as a replacement character, and a whole pair stays", () => {
  same(sendable("a\ud83d b🦙\udc00"), "a\ufffd b🦙\ufffd");
});

test("durations are short and exact", () => {
  same([duration(0.42), duration(12.4), duration(252), clock(7), clock(3723)], ["0.4 s", "12 s", "4:12", "0:07", "1:02:03"]);
});
