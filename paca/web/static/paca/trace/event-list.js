// The raw events of a conversation, newest first, a page at a time, of all types or of one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { ApiError, call } from "../core/api.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { fullDate } from "../core/time.js";

const PAGE = 50;
const CATALOGUE = new URL("../events.json", import.meta.url);

export class EventList {
  #base;
  #update;
  #events = null; // null: not loaded yet
  #types = [];
  #type = "";
  #more = false;
  #error = "";

  constructor(base, update) {
    this.#base = base;
    this.#update = update;
  }

  async start() {
    if (this.#events) return;
    const catalogue = await (await fetch(CATALOGUE)).json();
    this.#types = Object.keys(catalogue).sort();
    await this.#load();
  }

  #choose = ({ target }) => {
    this.#type = target.value;
    this.#events = null;
    this.#load();
  };

  #load = async (before = 0) => {
    this.#error = "";
    const chosen = this.#type;
    const query = `limit=${PAGE}${before ? `&before=${before}` : ""}${chosen ? `&type=${encodeURIComponent(chosen)}` : ""}`;
    try {
      const { results } = await call("GET", `${this.#base}events/?${query}`);
      if (chosen !== this.#type) return; // another type was chosen meanwhile
      this.#more = results.length === PAGE;
      this.#events = [...(before ? this.#events : []), ...results.reverse()];
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = error.message;
    }
    this.#update();
  };

  template() {
    const last = this.#events?.at(-1)?.seq;
    return html`<label class="field trace-filter"><span class="label">Type</span><span class="select-wrap"><select class="select input-s" @change=${this.#choose}>
        <option value="">All types</option>${this.#types.map((type) => html`<option value=${type} ?selected=${type === this.#type}>${type}</option>`)}</select>${icon("chevron-down", "icon-s")}</span></label>
      ${this.#error ? html`<p class="notice notice-bad" role="alert">${this.#error}</p>` : nothing}
      ${this.#events ? this.#rows() : html`<p class="text-2">Loading…</p>`}
      ${this.#more ? html`<button type="button" class="btn btn-s" @click=${() => this.#load(last)}>Earlier events</button>` : nothing}`;
  }

  #rows() {
    if (!this.#events.length) return html`<p class="text-2">No events of this type.</p>`;
    return html`<div>${repeat(this.#events, ({ seq }) => seq, (event) => html`<details class="trace-fold"><summary>${icon("chevron-right", "icon-s")}
      <span class="num sub">${event.seq}</span><b>${event.type}</b><span class="sub num"><bdi>${visible(event.source)}</bdi> · ${fullDate(event.at)}</span></summary>
      <pre tabindex="0">${visible(JSON.stringify(event, null, 2))}</pre></details>`)}</div>`;
  }
}
