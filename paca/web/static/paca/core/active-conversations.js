// <paca-active-conversations>: the active conversations in the sidebar, refreshed while the page is visible.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { AnswerOrder } from "./answer-order.js";
import { call } from "./api.js";
import { PacaElement } from "./element.js";
import { avatar, icon } from "./icons.js";
import { visible } from "./terminal.js";
import { stateOf } from "../conversation/labels.js";

const ACTIVE = new Set(["queued", "running", "waiting"]);
const REFRESH_MS = 15_000;
const MAX_SHOWN = 8;

export class PacaActiveConversations extends PacaElement {
  #conversations = null; // null: the markup from the server is still shown
  #order = new AnswerOrder();

  connectedCallback() {
    this.timer = setInterval(() => this.refresh(), REFRESH_MS);
    addEventListener("paca:status", this.#refreshSoon);
    addEventListener("focus", this.#refreshSoon);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    removeEventListener("paca:status", this.#refreshSoon);
    removeEventListener("focus", this.#refreshSoon);
  }

  #refreshSoon = () => {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.refresh(), 300);
  };

  async refresh() {
    if (document.hidden) return;
    try {
      await this.#order.read(() => call("GET", this.getAttribute("api")), this.#take);
    } catch {
      // The list keeps what it showed; the next refresh tries again.
    }
  }

  #take = ({ results }) => {
    if (!this.#conversations) this.replaceChildren();
    this.#conversations = results.filter(({ status }) => ACTIVE.has(status)).slice(0, MAX_SHOWN);
    this.update();
  };

  template() {
    if (!this.#conversations?.length) return nothing;
    return html`<div class="side-label" id="working-now">Working now</div>
      <div class="nav" role="group" aria-labelledby="working-now">
        ${repeat(this.#conversations, ({ id }) => id, (each) => this.#link(each))}</div>`;
  }

  #link({ id, title, agent, status, reason, waits_for: waitsFor }) {
    const { label, icon: name, tone } = stateOf({ status, reason, waitsFor });
    const here = location.pathname.includes(id) ? "page" : nothing;
    return html`<a href=${this.getAttribute("pages").replace("CONVERSATION", id)} aria-current=${here}>
      ${avatar({ ...agent, kind: "agent" }, "avatar-s")}<span class="label"><bdi>${visible(title) || "New conversation"}</bdi></span>
      <span class="state s-${tone}" title=${label}>${icon(name)}<span class="sr">${label}</span></span></a>`;
  }
}

export function defineActiveConversations() {
  if (!customElements.get("paca-active-conversations")) customElements.define("paca-active-conversations", PacaActiveConversations);
}
