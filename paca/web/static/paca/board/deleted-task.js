// The task that a person has deleted on its page: the board says so, and restores it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { call, newClientId } from "../core/api.js";
import { icon } from "../core/icons.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";

function keyOf({ urls, me }) {
  return `deleted-task:${urls.tasks}:${me.id}`;
}

/** Let the board of this tab say that the task was deleted. `page` is the object that the server wrote. */
export function noteDeleted(page, { number, key, title }) {
  save(keyOf(page), { number, key, title, action: newClientId() });
}

export class DeletedTask {
  #board;
  #task;

  constructor(board) {
    this.#board = board;
    this.#task = load(keyOf(board.page), null);
    if (this.#task) board.announcer.say(`${this.#task.key} is deleted`);
  }

  #close() {
    this.#task = null;
    save(keyOf(this.#board.page), null);
    this.#board.update();
  }

  async #restore() {
    const { number, action } = this.#task;
    try {
      await call("POST", `${this.#board.page.urls.tasks}${number}/restore/`, {}, { idempotencyKey: action });
    } catch (error) {
      this.#board.show(error, () => this.#restore());
      return;
    }
    this.#close();
    await this.#board.load();
    this.#board.focused = number;
    this.#board.update();
  }

  template() {
    if (!this.#task) return nothing;
    const { key, title } = this.#task;
    return html`<div class="notice board-notice">${icon("trash-2")}<div><b>${key}</b> <bdi>${visible(title)}</bdi> is deleted.</div>
      <span class="notice-acts"><button type="button" class="btn btn-s" @click=${() => this.#restore()}>${icon("rotate-ccw")}Undo</button>
      <button type="button" class="btn btn-s btn-quiet" @click=${() => this.#close()}>Close</button></span></div>`;
  }
}
