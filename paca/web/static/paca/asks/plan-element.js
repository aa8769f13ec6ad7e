// <paca-plan>: a plan that waits for a decision, with its steps, which can be changed before it is approved.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { PacaRequest } from "./request-element.js";

export class PacaPlan extends PacaRequest {
  look = { icon: "list-checks", classes: "is-plan", late: "Without a decision nothing is changed", missing: "Somebody who may approve has to decide." };

  /** Decide at once, as the keys do. */
  approve = () => this.send({ decision: "approve" });

  deny = () => this.open("reject");

  get hint() {
    return "Nothing has been changed yet.";
  }

  #submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("words");
    if (this.mode === "reject") {
      this.send({ decision: "reject", feedback: text });
      return;
    }
    const steps = text.split("\n").map((line) => line.trim()).filter(Boolean);
    this.send({ decision: "approve", steps });
  };

  body() {
    const { title, steps } = this.ask;
    return html`<p class="ask-text" dir="auto"><b>${visible(title)}</b></p>
      ${this.mode === "change" ? nothing : html`<ol class="plan-steps">${steps.map((step) => html`<li><bdi>${visible(step)}</bdi></li>`)}</ol>`}
      ${this.mode ? html`<form class="col" @submit=${this.#submit} @keydown=${this.onFormKey}>${this.mode === "reject"
        ? html`<textarea class="textarea ask-reason" name="words" rows="2" dir="auto" maxlength="2000" aria-label="What to change" placeholder="What to change. The agent reads it"></textarea>`
        : html`<textarea class="textarea" name="words" rows=${Math.min(12, steps.length + 1)} dir="auto" aria-label="Steps, one in each line" .value=${steps.join("\n")}></textarea>`}
        ${this.formButtons(this.mode === "reject" ? "Reject" : "Approve this")}</form>` : nothing}`;
  }

  foot() {
    if (this.mode) return nothing;
    return html`<footer class="ask-foot">${this.button(html`${icon("play")}Approve and start<kbd>A</kbd>`, this.approve, "btn-primary")}
      ${this.button(html`${icon("pencil")}Change the steps`, () => this.open("change"), "")}
      ${this.button(html`${icon("x")}Reject<kbd>D</kbd>`, this.deny)}</footer>`;
  }
}

customElements.define("paca-plan", PacaPlan);
