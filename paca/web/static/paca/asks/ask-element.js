// <paca-ask>: a call that waits for an approval, with all that it would do, and the answers.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import "../core/menu.js";
import { visible } from "../core/terminal.js";
import { diffRows } from "./ask-words.js";
import { PacaRequest } from "./request-element.js";

export class PacaAsk extends PacaRequest {
  /** Decide at once, as the keys do. */
  approve = () => this.send({ decision: "approve" });

  deny = () => this.send({ decision: "deny" });

  get hint() {
    return this.ask.why;
  }

  #submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("words");
    if (this.mode === "deny") {
      this.send({ decision: "deny", reason: text });
      return;
    }
    try {
      const given = this.ask.arguments;
      const changed = typeof given.command === "string" ? { ...given, command: text } : JSON.parse(text);
      this.send({ decision: "approve", arguments: changed });
    } catch {
      this.error = "The arguments are no JSON object.";
      this.update();
    }
  };

  body() {
    const { ask } = this;
    return html`${this.mode === "change" ? nothing : shown(ask)}
      ${ask.undo ? html`<p class="ask-fact">${icon("rotate-ccw", "icon-s")}${visible(ask.undo)}</p>` : nothing}
      ${this.mode ? this.#form() : nothing}`;
  }

  #form() {
    const given = this.ask.arguments;
    const text = typeof given.command === "string" ? given.command : JSON.stringify(given, null, 2);
    const field = this.mode === "deny"
      ? html`<input class="input ask-reason" name="words" maxlength="2000" autocomplete="off" aria-label="Reason" placeholder="The agent reads it">`
      : html`<textarea class="textarea mono" name="words" rows="4" spellcheck="false" aria-label="What to run in its place" .value=${text}></textarea>`;
    return html`<form class="col" @submit=${this.#submit} @keydown=${this.onFormKey}>${field}${this.formButtons(this.mode === "deny" ? "Deny" : "Approve this")}</form>`;
  }

  foot() {
    if (this.mode) return nothing;
    const choice = (name, text, meaning, act) => html`<button class="menu-item is-tall" role="menuitem" type="button" ?disabled=${this.busy} @click=${act}>${icon(name)}<span>${text}<small class="muted blk">${meaning}</small></span></button>`;
    return html`<footer class="ask-foot"><paca-menu class="btn-group opens-up">
      ${this.button(html`${icon("check")}Approve<kbd>A</kbd>`, this.approve, "btn-primary")}
      <button type="button" class="btn btn-icon btn-primary" aria-haspopup="menu" aria-expanded="false" aria-label="Other approvals" title="Other approvals">${icon("chevron-down")}</button>
      <div class="popup" role="menu" aria-label="Other approvals" hidden>
        ${choice("pencil", "Approve with changes", "You write what runs in its place", () => this.open("change"))}
        ${choice("shield", "Approve the rest", "Later calls of this conversation do not ask", () => this.send({ decision: "approve_rest" }))}</div></paca-menu>
      ${this.button(html`${icon("x")}Deny<kbd>D</kbd>`, this.deny, "")}
      ${this.button("Deny and say why", () => this.open("deny"))}<span class="push small muted desk-only">Only this call</span></footer>`;
  }
}

/** The command, the changed lines or the arguments, in full. */
function shown({ arguments: given, diff }) {
  if (typeof given.command === "string") return html`<pre class="cmd" tabindex="0" role="group" aria-label="Command">${visible(given.command)}</pre>`;
  if (diff) return html`<div class="diff" tabindex="0" role="group" aria-label="Changed lines"><div class="diff-in">${diffRows(diff).map(
    ({ kind, sign, text }) => html`<div class=${kind}><i></i><b>${sign}</b><span>${visible(text)}</span></div>`)}</div></div>`;
  return html`<pre class="cmd" tabindex="0" role="group" aria-label="Arguments">${visible(JSON.stringify(given, null, 2))}</pre>`;
}

customElements.define("paca-ask", PacaAsk);
