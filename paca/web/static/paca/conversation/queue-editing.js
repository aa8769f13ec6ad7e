// Editing a queued message: its text outlasts a reload, and an agent that reads the message first.

export class QueueEditing {
  #view;

  /** `view` is the <paca-conversation>: its words, its connection and its composer are used. */
  constructor(view) {
    this.#view = view;
    this.edit = view.unsent.edit; // {seq, text, was, saving} or null
    if (this.edit) this.edit.saving = false;
    const { start: startEdit, change: changeEdit, save: saveEdit, end: endEdit } = this;
    this.acts = { startEdit, changeEdit, saveEdit, endEdit, withdraw: this.withdraw, recall: view.recall };
  }

  start = ({ seq, text }) => {
    this.#set({ seq, text, was: text, saving: false });
    this.#view.flush();
    const field = this.#view.querySelector(".queue-edit textarea");
    field?.focus();
    field?.setSelectionRange(text.length, text.length);
  };

  change = (text) => {
    this.edit.text = text;
    this.#view.unsent.edit = this.edit;
  };

  save = () => {
    const { seq, text, was } = this.edit;
    if (!text.trim()) return;
    if (text === was) {
      this.end();
      return;
    }
    this.#set({ ...this.edit, saving: true });
    this.#view.connection.editMessage(seq, text);
  };

  end = () => {
    this.#set(null);
    this.#view.field?.focus();
  };

  withdraw = (seq) => this.#view.connection.withdrawMessage(seq);

  /** The server has the change, maybe with other characters where a text cannot hold those that were typed. */
  saved(seq) {
    if (this.edit?.saving && this.edit.seq === seq) this.end();
  }

  /** The server refused to change the message; its words go to the composer. */
  refused(text) {
    if (this.edit) this.#set(null);
    this.#view.restoreDraft(text);
  }

  /** The conversation has changed; `waiting` are the messages that the agent has not read. */
  changed(waiting) {
    const { run } = this.#view;
    if (!this.edit || !run.seq) return; // nothing to edit, or nothing loaded yet
    const { seq, text, was, saving } = this.edit;
    const isWaiting = waiting.some((message) => message.seq === seq);
    if (run.entries.get(`message:${seq}`)?.text === text && (saving || (!isWaiting && text !== was))) {
      this.end(); // saved, maybe by the page before a reload
    } else if (!isWaiting && !saving) {
      // The agent has read the message, or a person took it back elsewhere, while it was being edited.
      this.#set(null);
      if (text === was) return;
      this.#view.restoreDraft(text);
      this.#view.showError("The message was read or taken back before you saved it. Your words are in the field.");
    }
  }

  #set(edit) {
    this.edit = edit;
    this.#view.unsent.edit = edit;
    this.#view.update();
  }
}
