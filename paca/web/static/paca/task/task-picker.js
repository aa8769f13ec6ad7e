// A field that finds tasks of the project by key or title and takes one; what the server refuses is shown below it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { ApiError, call } from "../core/api.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";

const TYPING_MS = 160;
const MOST = 8;

export class TaskPicker {
  #host;
  #field;
  #label;
  #take;
  #words = "";
  #found = null; // the tasks that fit the words, or null while the list is closed
  #foundFor = ""; // the words that they fit
  #isWanted = false; // Enter was pressed before the tasks that fit the words were there
  #index = 0;
  #error = "";
  #timer = 0;
  #search = 0;

  /** `field` is the name of the API's field; `take(task)` stores the choice and may throw ApiError. */
  constructor(host, { field, label, take }) {
    this.#host = host;
    this.#field = field;
    this.#label = label;
    this.#take = take;
  }

  /** Run a change of the field; an ApiError is shown below it. Gives whether it succeeded. */
  async attempt(action) {
    this.#error = "";
    try {
      await action();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = (error.fields[this.#field] ?? [error.message]).join(" ");
      this.#host.announcer.alert(this.#error);
    }
    this.#host.update();
    return !this.#error;
  }

  #typed(words) {
    this.#words = words;
    this.#search += 1; // what is being found belongs to older words
    this.#isWanted = false;
    this.#error = "";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(), TYPING_MS);
    this.#host.update();
  }

  async #find() {
    const search = (this.#search += 1);
    const words = this.#words.trim();
    let found = null;
    if (words) {
      const { urls, number } = this.#host.page;
      await this.attempt(async () => {
        const { results } = await call("GET", `${urls.tasks}?search=${encodeURIComponent(words)}&limit=${MOST + 1}`);
        found = results.filter((task) => task.number !== number).slice(0, MOST);
      });
    }
    if (search !== this.#search) return; // a later search has begun, or the list was closed
    this.#found = found;
    this.#foundFor = words;
    this.#index = 0;
    if (this.#isWanted && found?.length) this.#choose(found[0]);
    this.#isWanted = false;
    this.#host.update();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#search += 1;
    this.#isWanted = false;
    this.#found = null;
    this.#host.update();
  }

  async #choose(task) {
    this.#close();
    if (await this.attempt(() => this.#take(task))) this.#words = "";
    this.#host.update();
  }

  #entered() {
    this.#isWanted = this.#words.trim() !== this.#foundFor;
    if (!this.#isWanted && this.#found?.length) this.#choose(this.#found[this.#index]);
  }

  #pressed(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = this.#found?.length ?? 0;
    if (step && count) this.#index = (this.#index + step + count) % count;
    else if (event.key === "Enter") this.#entered();
    else if (event.key === "Escape" && (this.#found || this.#words)) {
      this.#words = "";
      this.#close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
    this.#host.update();
  }

  template() {
    const id = `pick-${this.#field}`;
    const count = this.#found?.length ?? 0;
    return html`<span class="picker"><span class="picker-field"><input class="input input-s" id=${id} role="combobox" autocomplete="off" maxlength="200" placeholder="Key or title" aria-label=${this.#label}
        aria-expanded=${count ? "true" : "false"} aria-autocomplete="list" aria-controls="${id}-list" aria-activedescendant=${count ? `${id}-${this.#index}` : nothing}
        aria-invalid=${this.#error ? "true" : nothing} aria-describedby=${this.#error ? `${id}-error` : nothing} .value=${live(this.#words)}
        @input=${({ target }) => this.#typed(target.value)} @keydown=${(event) => this.#pressed(event)} @blur=${() => this.#close()}>
      <span class="popup picker-list" role="listbox" id="${id}-list" aria-label="Tasks" ?hidden=${!count}>${(this.#found ?? []).map((task, index) => html`<span class="menu-item" role="option" id="${id}-${index}"
        aria-selected=${index === this.#index ? "true" : "false"} @pointerdown=${(event) => { event.preventDefault(); this.#choose(task); }}><span class="num">${task.key}</span><bdi class="clip">${visible(task.title)}</bdi></span>`)}</span></span>
      ${this.#found && !count ? html`<span class="small muted" role="status">No task is found.</span>` : nothing}
      ${this.#error ? html`<span class="field-error" id="${id}-error">${icon("circle-alert")}${this.#error}</span>` : nothing}</span>`;
  }
}
