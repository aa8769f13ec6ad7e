// <paca-working>: the conversations under way, in the sidebar; kept fresh while the page is seen.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { call } from "./api.js";
import { PacaElement } from "./element.js";
import { avatar, icon } from "./icons.js";
import { visible } from "./terminal.js";
import { stateOf } from "../conversation/labels.js";

const UNDER_WAY = new Set(["queued", "running", "waiting"]);
const EVERY_MS = 15_000;
const MOST = 8;

export class PacaWorking extends PacaElement {
  #found = null; // null: what the server has drawn still stands

  connectedCallback() {
    this.timer = setInterval(() => this.refresh(), EVERY_MS);
    addEventListener("paca:status", this.#soon);
    addEventListener("focus", this.#soon);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    removeEventListener("paca:status", this.#soon);
    removeEventListener("focus", this.#soon);
  }

  #soon = () => {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.refresh(), 300);
  };

  async refresh() {
    if (document.hidden) return;
    try {
      const { results } = await call("GET", this.getAttribute("api"));
      if (!this.#found) this.replaceChildren();
      this.#found = results.filter(({ status }) => UNDER_WAY.has(status)).slice(0, MOST);
      this.update();
    } catch {
      // A list beside the page: what it showed last stays, and the next round asks again.
    }
  }

  template() {
    if (!this.#found?.length) return nothing;
    return html`<div class="side-label" id="working-now">Working now</div>
      <div class="nav" role="group" aria-labelledby="working-now">
        ${repeat(this.#found, ({ id }) => id, (each) => this.#link(each))}</div>`;
  }

  #link({ id, title, agent, status, reason }) {
    const { label, icon: name, tone } = stateOf({ status, reason });
    const here = location.pathname.includes(id) ? "page" : nothing;
    return html`<a href=${this.getAttribute("pages").replace("CONVERSATION", id)} aria-current=${here}>
      ${avatar({ ...agent, kind: "agent" }, "avatar-s")}<span class="label">${visible(title) || "New conversation"}</span>
      <span class="state s-${tone}" title=${label}>${icon(name)}<span class="sr">${label}</span></span></a>`;
  }
}

export function defineWorking() {
  if (!customElements.get("paca-working")) customElements.define("paca-working", PacaWorking);
}
