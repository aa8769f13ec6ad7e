// <paca-unread api="...">: how many notifications are unread, refreshed while the page is visible.
// The elements with `data-unread`, such as the pin of the phone's bar, show the same number.

import { AnswerOrder } from "./answer-order.js";
import { call } from "./api.js";

const REFRESH_MS = 15_000;

export class PacaUnread extends HTMLElement {
  #order = new AnswerOrder();

  connectedCallback() {
    this.timer = setInterval(() => this.refresh(), REFRESH_MS);
    addEventListener("focus", this.refresh);
    addEventListener("paca:read", this.refresh);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    removeEventListener("focus", this.refresh);
    removeEventListener("paca:read", this.refresh);
  }

  refresh = async () => {
    if (document.hidden) return;
    try {
      await this.#order.read(() => call("GET", `${this.getAttribute("api")}?limit=1`), this.#show);
    } catch {
      // The number stays; the next refresh tries again.
    }
  };

  #show = ({ unread }) => {
    if (String(unread) === this.textContent.trim()) return;
    for (const shown of [this, ...document.querySelectorAll("[data-unread]")]) {
      shown.hidden = !unread;
      shown.textContent = unread;
      shown.setAttribute("aria-label", `${unread} unread`);
    }
    dispatchEvent(new CustomEvent("paca:notified"));
  };
}

export function defineUnread() {
  if (!customElements.get("paca-unread")) customElements.define("paca-unread", PacaUnread);
}
