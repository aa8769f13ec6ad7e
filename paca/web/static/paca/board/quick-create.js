// The field for a new task in a column: its words outlast a reload and a refusal, and are stored once.

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { newClientId } from "../core/api.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";

const MAX_TITLE_CHARACTERS = 200;

/** The unsent title of the board's new task, and the status in whose column its field is open. */
export class NewTask {
  #key;
  #lost = { title: "", action: "" }; // a title without an answer: to send it again is the same action

  constructor(page) {
    this.#key = `new-task:${page.urls.tasks}:${page.me.id}`;
    const { status, title } = load(this.#key, { status: "", title: "" });
    this.title = title;
    this.status = title && page.statuses.some(({ id }) => id === status) ? status : "";
  }

  /** Keep what is typed. */
  keep(status, title) {
    this.title = title;
    save(this.#key, title ? { status, title } : null);
  }

  /** The idempotency key of this title. */
  actionOf(title) {
    if (this.#lost.title !== title) this.#lost = { title, action: newClientId() };
    return this.#lost.action;
  }

  /** The server has answered, so the same title would be another task. */
  answered() {
    this.#lost = { title: "", action: "" };
  }
}

/** Enter creates the task and stays for the next one, Esc closes. */
export function quickCreate(board, status) {
  const { newTask } = board;
  const close = () => {
    board.creating = "";
    newTask.keep(status.id, "");
    board.flush();
    board.querySelector(`[data-status="${status.id}"] .column-head button`)?.focus();
  };
  return html`<form class="kcard quick-create" @submit=${(event) => { event.preventDefault(); submit(board, status, event.target.elements.title); }}>
    <textarea class="textarea" name="title" rows="2" maxlength=${MAX_TITLE_CHARACTERS} placeholder="What is to be done?" .value=${live(newTask.title)}
      aria-label="Title of the new task in ${visible(status.name)}" enterkeyhint="done" @input=${({ target }) => newTask.keep(status.id, target.value)} @keydown=${(event) => {
        if (event.isComposing) return;
        if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); submit(board, status, event.target); }
        if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
      }}></textarea>
    <div class="bottom"><button class="btn btn-primary btn-s">Create</button><button type="button" class="btn btn-quiet btn-s" @click=${close}>Close</button></div></form>`;
}

async function submit(board, status, field) {
  const { newTask } = board;
  const title = field.value.replace(/\s+/g, " ").trim();
  if (!title || field.readOnly) return;
  field.readOnly = true;
  try {
    await board.create(title, status.id, newTask.actionOf(title));
    newTask.answered();
    newTask.keep(status.id, "");
    field.value = "";
    board.notice = null;
  } catch (error) {
    if (error.status && error.status < 500) newTask.answered();
    board.show(error); // the words stay in the field
  }
  field.readOnly = false;
  field.focus();
  board.update();
}
