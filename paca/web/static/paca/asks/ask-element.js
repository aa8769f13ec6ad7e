// <paca-ask>: a call that waits for a person, with all that it would do, and the answers.
//
// Properties: `ask` (an approval as in the API), `url` (its address there), `agent` (the agent's name),
// `mayDecide`. It sends "paca:decided" once it is decided here or elsewhere.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { PacaElement } from "../core/element.js";
import { icon } from "../core/icons.js";
import "../core/menu.js";
import { visible } from "../core/terminal.js";
import { countdownOf, decidedInWords, diffRows, titleOf } from "./ask-words.js";

const SEEN_MS = 400;

export class PacaAsk extends PacaElement {
  ask = null;
  url = "";
  agent = "";
  mayDecide = false;
  #mode = ""; // "", "change" or "deny": the field that is open
  #busy = false;
  #error = "";
  #decided = "";
  #key = newClientId(); // a repeated click is the same request
  #shownAt = Infinity;

  connectedCallback() {
    super.connectedCallback();
    this.#shownAt = performance.now();
  }

  /** Decide at once, as the keys do. */
  approve = () => this.#send({ decision: "approve" });

  deny = () => this.#send({ decision: "deny" });

  get isOpen() {
    return !this.#decided && this.mayDecide && !this.#busy;
  }

  /** Whether a person can have seen it: a key that was meant for the card before decides nothing here. */
  get isSeen() {
    return performance.now() - this.#shownAt > SEEN_MS;
  }

  get isDecided() {
    return Boolean(this.#decided);
  }

  /** Say what became of the call: it was decided elsewhere. */
  async settle() {
    const found = await call("GET", this.url);
    if (found.state !== "open") this.#decided ||= decidedInWords(found);
    this.update();
  }

  async #send(body) {
    if (!this.isOpen) return;
    this.#busy = true;
    this.#error = "";
    this.update();
    try {
      this.#decided = decidedInWords(await call("POST", this.url, body, { idempotencyKey: this.#key }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "approval_decided") this.#decided = error.message;
      else this.#error = Object.values(error.fields).flat()[0] ?? error.message;
      this.#key = newClientId();
    }
    this.#busy = false;
    this.update();
    if (this.#decided) this.dispatchEvent(new CustomEvent("paca:decided", { bubbles: true }));
  }

  #open(mode) {
    this.#mode = mode;
    this.#error = "";
    this.flush();
    this.querySelector("textarea, .ask-reason")?.focus();
  }

  #close = () => {
    this.#mode = "";
    this.#error = "";
    this.flush();
    this.querySelector(".btn-primary")?.focus();
  };

  #submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("words");
    if (this.#mode === "deny") {
      this.#send({ decision: "deny", reason: text });
      return;
    }
    try {
      const given = this.ask.arguments;
      const changed = typeof given.command === "string" ? { ...given, command: text } : JSON.parse(text);
      this.#send({ decision: "approve", arguments: changed });
    } catch {
      this.#error = "The arguments are no JSON object.";
      this.update();
    }
  };

  template() {
    const { ask } = this;
    if (!ask) return nothing;
    if (this.#decided) return html`<div class="notice" role="status">${icon("shield")}<div><b>${visible(ask.subject || ask.tool)}</b> ${this.#decided}</div></div>`;
    return html`<section class="ask" tabindex="-1" aria-label="${titleOf(ask, this.agent)}">
      <header class="ask-head">${icon("shield")}<div><h2>${visible(titleOf(ask, this.agent))}</h2><p>${visible(ask.why)}</p></div>
        <span class="clock" title="Without an answer it is not run">${icon("clock", "icon-s")}${countdown(ask)}</span></header>
      <div class="ask-body">${this.#mode === "change" ? nothing : shown(ask)}
        ${ask.undo ? html`<p class="ask-fact">${icon("rotate-ccw", "icon-s")}${visible(ask.undo)}</p>` : nothing}
        ${this.#mode ? this.#form() : nothing}
        ${this.#error ? html`<p class="error" role="alert">${icon("circle-alert", "icon-s")} ${visible(this.#error)}</p>` : nothing}</div>
      ${this.mayDecide ? this.#foot() : html`<footer class="ask-foot"><span class="small muted">Somebody who may approve has to decide.</span></footer>`}
    </section>`;
  }

  #form() {
    const given = this.ask.arguments;
    const text = typeof given.command === "string" ? given.command : JSON.stringify(given, null, 2);
    const field = this.#mode === "deny"
      ? html`<input class="input ask-reason" name="words" maxlength="2000" autocomplete="off" aria-label="Reason" placeholder="The agent reads it">`
      : html`<textarea class="textarea mono" name="words" rows="4" spellcheck="false" aria-label="What to run in its place" .value=${text}></textarea>`;
    return html`<form class="col" @submit=${this.#submit} @keydown=${(event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#close();
    }}>${field}<div class="row"><button class="btn btn-primary" ?disabled=${this.#busy}>${this.#mode === "deny" ? "Deny" : "Approve this"}</button>
      <button type="button" class="btn btn-quiet" @click=${this.#close}>Back</button></div></form>`;
  }

  #foot() {
    if (this.#mode) return nothing;
    const button = (text, act, classes = "btn-quiet") => html`<button type="button" class="btn ${classes}" ?disabled=${this.#busy} @click=${act}>${text}</button>`;
    const choice = (name, text, meaning, act) => html`<button class="menu-item is-tall" role="menuitem" type="button" ?disabled=${this.#busy} @click=${act}>${icon(name)}<span>${text}<small class="muted blk">${meaning}</small></span></button>`;
    return html`<footer class="ask-foot"><paca-menu class="btn-group opens-up">
      ${button(html`${icon("check")}Approve<kbd>A</kbd>`, this.approve, "btn-primary")}
      <button type="button" class="btn btn-icon btn-primary" aria-haspopup="menu" aria-expanded="false" aria-label="Other approvals" title="Other approvals">${icon("chevron-down")}</button>
      <div class="popup" role="menu" aria-label="Other approvals" hidden>
        ${choice("pencil", "Approve with changes", "You write what runs in its place", () => this.#open("change"))}
        ${choice("shield", "Approve the rest", "Later calls of this conversation do not ask", () => this.#send({ decision: "approve_rest" }))}</div></paca-menu>
      ${button(html`${icon("x")}Deny<kbd>D</kbd>`, this.deny, "")}
      ${button("Deny and say why", () => this.#open("deny"))}<span class="push small muted desk-only">Only this call</span></footer>`;
  }
}

function countdown(ask) {
  const { at, seconds } = countdownOf(ask);
  return html`<paca-until class="num" at=${at} seconds=${seconds}></paca-until>`;
}

/** The command, the changed lines or the arguments, in full. */
function shown({ arguments: given, diff }) {
  if (typeof given.command === "string") return html`<pre class="cmd" tabindex="0" role="group" aria-label="Command">${visible(given.command)}</pre>`;
  if (diff) return html`<div class="diff" tabindex="0" role="group" aria-label="Changed lines"><div class="diff-in">${diffRows(diff).map(
    ({ kind, sign, text }) => html`<div class=${kind}><i></i><b>${sign}</b><span>${visible(text)}</span></div>`)}</div></div>`;
  return html`<pre class="cmd" tabindex="0" role="group" aria-label="Arguments">${visible(JSON.stringify(given, null, 2))}</pre>`;
}

customElements.define("paca-ask", PacaAsk);
