import { same, test } from "./harness.js";
import { phrasesOf, timelineRows } from "../../../paca/web/static/paca/task/timeline.js";
import { threadsOf } from "../../../paca/web/static/paca/talk/threads.js";
import { pieces } from "../../../paca/web/static/paca/talk/mentions-in-text.js";
import { candidates, completed, mentionAt } from "../../../paca/web/static/paca/talk/mentions.js";

const ADA = { id: "a", name: "Ada" };
const at = (minute) => `2026-01-01T10:${String(minute).padStart(2, "0")}:00Z`;
const entry = (minute, kind, changes = [], more = {}) => ({ id: `e${minute}`, kind, actor: ADA, at: at(minute), changes, ...more });
const comment = (id, minute, parent = null) => ({ id, parent, created_at: at(minute), text: id, author: ADA });

test("changes of one member within ten minutes are one row, others are rows of their own", () => {
  const activity = [entry(0, "task.created"), entry(5, "task.updated", [{ field: "priority", old: "none", new: "high" }]), entry(30, "task.updated", [{ field: "title", old: "a", new: "b" }])];
  const rows = timelineRows({ activity, threads: [], runs: [] });
  same(rows.map(({ phrases }) => phrases.length), [2, 1]);
});

test("a comment between two changes parts them", () => {
  const activity = [entry(0, "task.created"), entry(2, "task.updated", [{ field: "title", old: "a", new: "b" }])];
  const rows = timelineRows({ activity, threads: [{ comment: comment("c", 1), answers: [] }], runs: [] });
  same(rows.map(({ kind }) => kind), ["activity", "comment", "activity"]);
});

test("the card of a run stands for the entry that it was started", () => {
  const activity = [entry(1, "agent.session.started", [], { conversation: "r1" }), entry(20, "agent.session.started", [], { conversation: "not readable" })];
  const runs = [{ id: "r1", created_at: at(1) }];
  same(timelineRows({ activity, threads: [], runs }).map(({ kind }) => kind), ["run", "activity"]);
  same(timelineRows({ activity, threads: [], runs }, "runs").map(({ kind }) => kind), ["run"]);
});

test("an answer to an answer is in the thread of the first comment", () => {
  const threads = threadsOf([comment("one", 1), comment("two", 2, "one"), comment("three", 3, "two"), comment("lost", 4, "deleted")]);
  same(threads.map(({ comment: root, answers }) => [root.id, ...answers.map(({ id }) => id)]), [["one", "two", "three"], ["lost"]]);
});

test("changes are told in words", () => {
  const told = (field, old, now) => {
    const [{ verb, to, from }] = phrasesOf("task.updated", [{ field, old, new: now }]);
    return [verb, to, from].filter((part) => part !== undefined).join("|");
  };
  same(told("status", "To do", "Done"), "set status to|Done|To do");
  same(told("due_date", "2026-01-01", null), "removed the due date|2026-01-01");
  same(told("assignees", [], ["Rosa"]), "assigned|Rosa");
  same(told("assignees", ["Rosa"], []), "unassigned|Rosa");
  same(told("labels", ["a"], ["a", "b"]), "added labels|b");
  same(told("labels", ["a"], ["b"]), "set labels to|b");
  same(told("description", "a", "b"), "changed the description");
  same(told("something_new", "a", "b"), "set something_new to|b|a");
});

test("a mention is typed after a blank, and not inside a word or an address", () => {
  same(mentionAt("Hello @ro", 9), { start: 6, query: "ro" });
  same(mentionAt("@", 1), { start: 0, query: "" });
  same(mentionAt("(@ada", 5), { start: 1, query: "ada" });
  same(mentionAt("mail ada@example", 16), null);
  same(mentionAt("@ada done", 9), null);
});

test("members are found by handle and name, and the chosen handle completes the text", () => {
  const members = [{ handle: "ada", name: "Ada Okafor" }, { handle: "rosa", name: "Rosa" }, { handle: "carada", name: "Cara" }];
  same(candidates(members, "ada").map(({ handle }) => handle), ["ada", "carada"]);
  same(candidates(members, "oka").map(({ handle }) => handle), ["ada"]);
  same(completed("Hi @ro there", 6, { start: 3 }, "rosa"), { text: "Hi @rosa there", caret: 9 });
});

test("handles of members are set off in a text, and other names, addresses and paths are not", () => {
  const handles = new Set(["ada", "rosa-2"]);
  const found = (text) => pieces(text, handles).filter(({ mention }) => mention).map(({ text: written }) => written);
  same(found("@ada, (@Rosa-2). @nobody"), ["@ada", "@Rosa-2"]);
  same(found("ada@ada.org x/@ada @adam @ada@example.org #@ada"), []);
  same(pieces("Hi @ada!", handles).map(({ text }) => text).join(""), "Hi @ada!");
});
