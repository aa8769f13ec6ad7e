// <paca-question>: a question of an agent, with its choices and a field for other words.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../core/terminal.js";
import { PacaRequest } from "./request-element.js";

export class PacaQuestion extends PacaRequest {
  look = { icon: "circle-help", classes: "is-question", late: "Without an answer the agent goes on", missing: "Somebody who may write has to answer." };
  #other = false; // whether the field for other words is chosen

  get hint() {
    return "It waits for your answer.";
  }

  /** Choose the answer of this number, from 1; false if there is none. */
  choose(number) {
    const found = this.querySelectorAll("input[type=radio]")[number - 1];
    if (!found) return false;
    found.focus();
    found.click(); // other words then have a field with the focus
    return true;
  }

  #submit = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    const chosen = given.get("choice");
    const text = chosen === null || chosen === "other" ? given.get("words") : this.ask.choices[Number(chosen)].label;
    if (text?.trim()) {
      this.send({ text });
      return;
    }
    this.error = chosen === null && this.ask.choices.length ? "Choose an answer first." : "Write an answer first.";
    this.update();
  };

  #onChoice = ({ target }) => {
    this.#other = target.value === "other";
    this.error = "";
    this.flush();
    if (this.#other) this.querySelector(".ask-reason")?.focus();
  };

  body() {
    const { text, choices } = this.ask;
    const words = html`<textarea class="textarea ask-reason" name="words" rows="2" dir="auto" maxlength="10000" aria-label="Answer" placeholder="The agent reads it" @keydown=${sendOnEnter}></textarea>`;
    return html`<p class="ask-text" dir="auto">${visible(text)}</p>
      ${this.mayDecide ? html`<form class="col" id="answer-${this.ask.call_id}" @submit=${this.#submit}>
        ${choices.length ? html`<fieldset class="ask-choices"><legend class="sr">Answers</legend>${choices.map((each, at) => choice(at + 1, String(at), each, this.#onChoice))}
          ${choice(choices.length + 1, "other", { label: "Something else" }, this.#onChoice)}</fieldset>` : nothing}
        ${this.#other || !choices.length ? words : nothing}</form>` : choices.length ? html`<ul class="ask-choices">${choices.map(({ label }) => html`<li><bdi>${visible(label)}</bdi></li>`)}</ul>` : nothing}`;
  }

  foot() {
    return html`<footer class="ask-foot"><button class="btn btn-primary" form="answer-${this.ask.call_id}" ?disabled=${this.busy}>Answer<kbd>↵</kbd></button>
      <span class="push small muted desk-only">The first answer counts</span></footer>`;
  }
}

function choice(number, value, { label, description = "" }, onChange) {
  return html`<label class="ask-choice"><input type="radio" name="choice" value=${value} @change=${onChange}><span><b><bdi>${visible(label)}</bdi></b>${
    description ? html`<small dir="auto">${visible(description)}</small>` : nothing}</span><kbd class="desk-only">${number}</kbd></label>`;
}

function sendOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

customElements.define("paca-question", PacaQuestion);
