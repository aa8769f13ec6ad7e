// <paca-waiting-calls api="..." pages="...">: what waits for the person in all projects, and the chosen one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { ASKS } from "../asks/ask-keys.js";
import { countdownOf } from "../asks/ask-words.js";
import { card } from "../asks/asks.js";
import { AnswerOrder } from "../core/answer-order.js";
import { ApiError, call } from "../core/api.js";
import { PacaElement } from "../core/element.js";
import { avatar, icon } from "../core/icons.js";
import { keys } from "../core/keys.js";
import { visible } from "../core/terminal.js";

const REFRESH_MS = 15_000;
const KINDS = new Map([["approval", ["shield", "c-wait"]], ["question", ["circle-help", "c-accent"]], ["plan", ["list-checks", "c-hold"]]]);
const KEYS = new Map([
  ["approval", html`<kbd>A</kbd> approve <kbd>D</kbd> deny`], ["plan", html`<kbd>A</kbd> approve <kbd>D</kbd> reject`],
  ["question", html`<kbd>1</kbd> to <kbd>7</kbd> choose <kbd>↵</kbd> answer`],
]);

export class PacaWaitingCalls extends PacaElement {
  #rows = null;
  #chosen = ""; // the call_id of the row whose card is shown
  #kept = null; // the chosen row, if the call was decided elsewhere while its card is shown
  #error = "";
  #order = new AnswerOrder();

  connectedCallback() {
    super.connectedCallback();
    keys("Inbox", [
      ["j", "Next that waits", () => this.#move(1)],
      ["k", "Previous that waits", () => this.#move(-1)],
      ["o", "Open its conversation", () => this.#openConversation()],
    ]);
    addEventListener("paca:notified", this.refresh);
    this.timer = setInterval(this.refresh, REFRESH_MS);
    this.refresh();
  }

  disconnectedCallback() {
    removeEventListener("paca:notified", this.refresh);
    clearInterval(this.timer);
  }

  refresh = async () => {
    if (document.hidden) return;
    try {
      await this.#order.read(() => call("GET", this.getAttribute("api")), ({ results }) => {
        this.#keepDecided(results);
        this.#rows = results.sort((one, other) => one.deadline.localeCompare(other.deadline));
      });
      this.#error = "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = error.message;
    }
    if (!this.#kept && !this.#rows?.some(({ call_id: id }) => id === this.#chosen)) this.#chosen = this.#rows?.[0]?.call_id ?? "";
    this.update();
  };

  // Another call never takes the place of the shown one by itself: a key would decide on a call that nobody has read.
  #keepDecided(results) {
    const row = this.#kept ?? this.#rows?.find(({ call_id: id }) => id === this.#chosen);
    const card = this.querySelector(ASKS);
    const isGone = row && !results.some(({ call_id: id }) => id === row.call_id);
    this.#kept = isGone && card && (this.#kept || !card.isDecided) ? row : null;
    if (this.#kept) card.settle().catch(() => {});
  }

  #move(by) {
    if (!this.#rows?.length) return false;
    const at = this.#rows.findIndex(({ call_id: id }) => id === this.#chosen);
    const next = this.#rows[Math.min(Math.max(at + by, 0), this.#rows.length - 1)];
    this.#choose(next.call_id);
    this.querySelector(`[data-call="${next.call_id}"]`)?.focus();
    return true;
  }

  #choose(id) {
    this.#chosen = id;
    this.#kept = null;
    this.flush();
  }

  #openConversation() {
    const link = this.querySelector(".ask-where a");
    if (!link) return false;
    link.click();
    return true;
  }

  // The card says what became of the call; the list follows a moment later.
  #decided = () => {
    dispatchEvent(new CustomEvent("paca:read"));
    setTimeout(this.refresh, 1500);
  };

  template() {
    if (this.#error) return html`<div class="notice notice-bad">${icon("circle-alert")}<div>${this.#error}</div><button type="button" class="btn btn-s" @click=${this.refresh}>Try again</button></div>`;
    if (!this.#rows?.length && !this.#kept) return nothing;
    const chosen = this.#rows.find(({ call_id: id }) => id === this.#chosen) ?? this.#kept;
    return html`<section class="needs" aria-labelledby="needs-you"><div><h2 id="needs-you" class="small muted inbox-day">Needs you <span class="num c-wait">${this.#rows.length}</span></h2>
      <ul class="card rowlist">${repeat(this.#rows, ({ call_id: id }) => id, (row) => this.#row(row))}</ul></div>
      ${chosen ? repeat([chosen], ({ call_id: id }) => id, (row) => this.#card(row)) : nothing}</section>`;
  }

  #row(row) {
    const { call_id: id, kind, agent, subject, tool, conversation } = row;
    const [picture, tone] = KINDS.get(kind) ?? KINDS.get("approval");
    const { at, seconds } = countdownOf(row);
    return html`<li><button type="button" class="inbox-row needs-row" data-call=${id} aria-pressed=${id === this.#chosen} @click=${() => this.#choose(id)}>
      ${avatar({ ...agent, kind: "agent" }, "avatar-s")}<span class="clip"><b class="clip">${visible(subject || tool)}</b><small class="muted clip"><bdi>${visible(agent.name)}</bdi> · <bdi>${visible(conversation.title) || "New conversation"}</bdi> · <bdi>${visible(conversation.project.name)}</bdi></small></span>
      <span class="push small num ${tone}">${icon(picture, "icon-s inl")} <paca-until at=${at} seconds=${seconds}></paca-until></span></button></li>`;
  }

  #card(row) {
    const { agent, conversation, requested_at: at } = row;
    const { project } = conversation;
    const page = this.getAttribute("pages").replace("PROJECT", project.id).replace("CONVERSATION", conversation.id);
    const base = this.getAttribute("conversations").replace("PROJECT", project.id).replace("CONVERSATION", conversation.id);
    const shown = card(row, { base, agent: agent.name, mayDecide: true, onDecided: this.#decided });
    return html`<div class="col gap-6"><div class="row ask-where"><div class="clip"><b class="clip"><bdi>${visible(conversation.title) || "New conversation"}</bdi></b>
        <p class="small muted">${visible(agent.name)} · ${visible(project.name)} · asked <paca-since class="num" at=${at}></paca-since> ago</p></div>
        <a class="btn btn-s push" href=${page}>Open conversation${icon("arrow-right")}</a></div>
      ${shown}
      <p class="small muted row keys-hint desk-only"><kbd>J</kbd><kbd>K</kbd> next, previous ${KEYS.get(row.kind) ?? KEYS.get("approval")} <kbd>O</kbd> open</p></div>`;
  }
}

customElements.define("paca-waiting-calls", PacaWaitingCalls);
