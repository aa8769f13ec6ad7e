import { check, same, test } from "./harness.js";
import { QueueEditing } from "../../../paca/web/static/paca/conversation/queue-editing.js";

/** What QueueEditing uses of the page; `sent` are the commands and `drafts` the words put into the composer. */
class FakeView {
  unsent = { edit: null };
  run = { seq: 9, entries: new Map() };
  sent = [];
  drafts = [];
  connection = {
    editMessage: (...facts) => this.sent.push(["edit", ...facts]),
    withdrawMessage: (...facts) => this.sent.push(["withdraw", ...facts]),
  };

  update() {}

  flush() {}

  querySelector() {
    return null;
  }

  showError(text) {
    this.error = text;
  }

  restoreDraft(text) {
    this.drafts.push(text);
  }
}

const MESSAGE = { seq: 7, text: "And the changelog" };

function store(view, changes = {}) {
  view.run.entries.set(`message:${MESSAGE.seq}`, { ...MESSAGE, ...changes });
}

function editing(text) {
  const view = new FakeView();
  store(view);
  const editor = new QueueEditing(view);
  editor.start(MESSAGE);
  editor.change(text);
  return { view, editor };
}

test("edit of a queued message ends when its new text is in the log", () => {
  const { view, editor } = editing("And the README");
  editor.save();
  same([view.sent, editor.edit.saving], [[["edit", 7, "And the README"]], true]);
  editor.changed([MESSAGE]);
  same(editor.edit.saving, true, "not yet");
  store(view, { text: "And the README" });
  editor.changed([{ ...MESSAGE, text: "And the README" }]);
  same([editor.edit, view.unsent.edit, view.drafts], [null, null, []]);
});

test("words of an edit go to the composer if the agent reads the message first", () => {
  const { view, editor } = editing("And the README");
  editor.changed([]);
  same([editor.edit, view.drafts], [null, ["And the README"]]);
  check(view.error.includes("Your words are in the field"));
});

test("words of a refused edit go to the composer", () => {
  const { view, editor } = editing("And the README");
  editor.save();
  editor.changed([]); // the agent has read it; the answer of the server is on its way
  editor.refused("And the README");
  same([editor.edit, view.drafts], [null, ["And the README"]]);
});

test("edit without a change sends nothing and leaves nothing behind", () => {
  const { view, editor } = editing(MESSAGE.text);
  editor.save();
  same([editor.edit, view.sent], [null, []]);
  const other = editing(MESSAGE.text);
  other.editor.changed([]);
  same(other.view.drafts, []);
});

test("edit outlasts a reload, before any message is loaded", () => {
  const { view } = editing("Half a thou");
  view.run.seq = 0;
  const after = new QueueEditing(view);
  after.changed([]);
  same([after.edit.text, view.drafts], ["Half a thou", []]);
});

test("edit that was saved just before a reload and then read by the agent is over", () => {
  const { view } = editing("And the README");
  view.unsent.edit.saving = true;
  store(view, { text: "And the README" });
  const after = new QueueEditing(view);
  after.changed([]);
  same([after.edit, view.drafts, view.error ?? ""], [null, [], ""]);
});

test("edit ends when the server has it, also if it stores other characters", () => {
  const { view, editor } = editing("Half a pair: \ud83d");
  editor.save();
  store(view, { text: "Half a pair: \ufffd" });
  editor.changed([{ ...MESSAGE, text: "Half a pair: \ufffd" }]);
  same(editor.edit.saving, true, "the text tells nothing");
  editor.saved(MESSAGE.seq);
  same([editor.edit, view.unsent.edit], [null, null]);
});
