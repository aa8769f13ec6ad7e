// <paca-inbox api="...">: what a person was told, by day; opening one marks it as read.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { AnswerOrder } from "../core/answer-order.js";
import { ApiError, call } from "../core/api.js";
import { PacaElement } from "../core/element.js";
import { avatar, icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";

const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const WORDS = new Map([
  ["assigned", "assigned you"], ["mentioned", "mentioned you"], ["approval", "needs your approval"], ["question", "needs you"],
  ["finished", "finished"], ["failed", "failed"],
]);

export class PacaInbox extends PacaElement {
  #rows = null;
  #next = null;
  #error = "";
  #order = new AnswerOrder();

  connectedCallback() {
    this.replaceChildren();
    super.connectedCallback();
    addEventListener("paca:notified", this.#refresh);
    this.load();
  }

  disconnectedCallback() {
    removeEventListener("paca:notified", this.#refresh);
  }

  #refresh = () => this.load();

  async #attempt(action) {
    try {
      await action();
      this.#error = "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = error.message;
    }
    this.update();
  }

  load() {
    return this.#attempt(() => this.#order.read(() => call("GET", this.getAttribute("api")), ({ results, next }) => {
      this.#rows = results;
      this.#next = next;
    }));
  }

  #loadOlder() {
    const address = this.#next;
    return this.#attempt(async () => {
      const { results, next } = await call("GET", address);
      if (address !== this.#next) return; // the list was loaded again meanwhile
      this.#rows = [...this.#rows, ...results.filter(({ id }) => !this.#rows.some((row) => row.id === id))];
      this.#next = next;
    });
  }

  #read(row) {
    if (row.read_at) return;
    row.read_at = new Date().toISOString();
    // The page is left meanwhile; the browser finishes this request.
    const read = () => call("POST", `${this.getAttribute("api")}${row.id}/read/`, {}, { keepalive: true });
    this.#attempt(() => this.#order.write(read, () => {}, () => this.load()));
  }

  #readAll() {
    return this.#attempt(async () => {
      await call("POST", `${this.getAttribute("api")}read/`, {});
      await this.load();
      dispatchEvent(new CustomEvent("paca:read"));
    });
  }

  template() {
    if (this.#error) return html`<div class="notice notice-bad">${icon("circle-alert")}<div>${this.#error}</div><button type="button" class="btn btn-s" @click=${() => this.load()}>Try again</button></div>`;
    if (!this.#rows) return html`<div aria-busy="true"><span class="sr">Loading</span></div>`;
    if (!this.#rows.length) return html`<div class="card empty"><h2>Nothing needs you</h2><p>You are told here when somebody assigns or mentions you, in any project.</p></div>`;
    const unread = this.#rows.some(({ read_at: read }) => !read);
    return html`${unread ? html`<div class="row row-end"><button type="button" class="btn btn-s" @click=${() => this.#readAll()}>${icon("check")}Mark all as read</button></div>` : nothing}
      ${daysOf(this.#rows).map(([day, rows]) => html`<section><h2 class="small muted inbox-day">${day}</h2><ul class="card rowlist">${repeat(rows, ({ id }) => id, (row) => this.#row(row))}</ul></section>`)}
      ${this.#next ? html`<button type="button" class="btn" @click=${() => this.#loadOlder()}>Show older</button>` : nothing}`;
  }

  #row(row) {
    const { kind, actor, subject, url, at, read_at: read } = row;
    return html`<li><a class="inbox-row ${read ? "" : "is-new"}" href=${url} data-row @click=${() => this.#read(row)}>${actor ? avatar(actor, "avatar-s") : icon("bell")}
      <span class="clip"><b><bdi>${visible(actor?.name ?? "Paca")}</bdi></b> ${WORDS.get(kind) ?? kind}: <bdi>${visible(subject)}</bdi></span>
      ${read ? nothing : html`<span class="badge badge-accent">New</span>`}<time class="push small muted"><paca-when at=${at}></paca-when></time></a></li>`;
  }
}

function daysOf(rows) {
  const days = new Map();
  for (const row of rows) {
    const day = DAY.format(new Date(row.at));
    days.set(day, [...(days.get(day) ?? []), row]);
  }
  return [...days];
}

customElements.define("paca-inbox", PacaInbox);
