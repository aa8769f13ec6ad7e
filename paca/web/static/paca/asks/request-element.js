// The base of what waits for a person: an approval, a question or a plan, with its clock and its end.
//
// Properties: `ask` (a request as in the API), `url` (its address there), `agent` (the agent's name),
// `mayDecide`. It sends "paca:decided" once it is decided here or elsewhere.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { PacaElement } from "../core/element.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { countdownOf, decidedInWords, titleOf } from "./ask-words.js";

const SEEN_MS = 400;
const DECIDED = new Set(["approval_decided", "question_answered", "plan_decided"]);

export class PacaRequest extends PacaElement {
  ask = null;
  url = "";
  agent = "";
  mayDecide = false;
  look = { icon: "shield", classes: "", late: "Without an answer it is not run", missing: "Somebody who may approve has to decide." };
  mode = ""; // the field that is open; "" for none
  busy = false;
  error = "";
  #decided = "";
  #key = newClientId(); // a repeated click is the same request
  #shownAt = Infinity;

  connectedCallback() {
    super.connectedCallback();
    this.#shownAt = Infinity;
  }

  rendered() {
    if (this.#shownAt === Infinity) this.#shownAt = performance.now();
  }

  get isOpen() {
    return !this.#decided && this.mayDecide && !this.busy;
  }

  /**
   * Whether a person can have seen it before this time, which is that of an event: a key that was meant for the card
   * before decides nothing here, also if a busy page hears of it late.
   */
  wasSeen(at) {
    return at - this.#shownAt > SEEN_MS;
  }

  get isDecided() {
    return Boolean(this.#decided);
  }

  /** Say what became of it: it was decided elsewhere. */
  async settle() {
    const found = await call("GET", this.url);
    if (found.state !== "open") this.#decided ||= decidedInWords(found);
    this.update();
  }

  async send(body) {
    if (!this.isOpen) return;
    this.busy = true;
    this.error = "";
    this.update();
    try {
      this.#decided = decidedInWords(await call("POST", this.url, body, { idempotencyKey: this.#key }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (DECIDED.has(error.code)) this.#decided = error.message;
      else this.error = Object.values(error.fields).flat()[0] ?? error.message;
      this.#key = newClientId();
    }
    this.busy = false;
    this.update();
    if (this.#decided) this.dispatchEvent(new CustomEvent("paca:decided", { bubbles: true }));
  }

  open(mode) {
    this.mode = mode;
    this.error = "";
    this.flush();
    this.querySelector("textarea, .ask-reason")?.focus();
  }

  close = () => {
    this.mode = "";
    this.error = "";
    this.flush();
    this.querySelector(".btn-primary")?.focus();
  };

  onFormKey = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.close();
  };

  button(text, act, classes = "btn-quiet") {
    return html`<button type="button" class="btn ${classes}" ?disabled=${this.busy} @click=${act}>${text}</button>`;
  }

  /** The buttons that send the open field, or close it. */
  formButtons(label) {
    return html`<div class="row"><button class="btn btn-primary" ?disabled=${this.busy}>${label}</button>
      <button type="button" class="btn btn-quiet" @click=${this.close}>Back</button></div>`;
  }

  template() {
    const { ask, look } = this;
    if (!ask) return nothing;
    if (this.#decided) return html`<div class="notice" role="status">${icon(look.icon)}<div><b>${visible(ask.text || ask.title || ask.subject || ask.tool)}</b> ${visible(this.#decided)}</div></div>`;
    const { at, seconds } = countdownOf(ask);
    return html`<section class="ask ${look.classes}" tabindex="-1" aria-label=${titleOf(ask, this.agent)}>
      <header class="ask-head">${icon(look.icon)}<div><h2>${visible(titleOf(ask, this.agent))}</h2><p>${visible(this.hint)}</p></div>
        <span class="clock" title=${look.late}>${icon("clock", "icon-s")}<paca-until class="num" at=${at} seconds=${seconds}></paca-until></span></header>
      <div class="ask-body">${this.body()}
        ${this.error ? html`<p class="error" role="alert">${icon("circle-alert", "icon-s")} ${visible(this.error)}</p>` : nothing}</div>
      ${this.mayDecide ? this.foot() : html`<footer class="ask-foot"><span class="small muted">${look.missing}</span></footer>`}
    </section>`;
  }
}
