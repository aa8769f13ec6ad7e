// <paca-preview api="...">: the context that a new run gets, by part, with an estimate of its tokens.

import { html, svg } from "../../vendor/lit-html/lit-html.js";
import { AnswerOrder } from "../core/answer-order.js";
import { ApiError, call } from "../core/api.js";
import { PacaElement } from "../core/element.js";
import { visible } from "../core/terminal.js";

const TONES = 6;
const CAUSES = [
  ["chat_message", "In a chat"], ["task_assigned", "Task assigned"], ["comment_mention", "Mentioned"],
  ["description_write", "Description"], ["execute", "Started by a program"], ["check_in", "Check-in"],
];

export class PacaPreview extends PacaElement {
  #preview = null;
  #error = "";
  #cause = "chat_message";
  #order = new AnswerOrder();

  connectedCallback() {
    super.connectedCallback();
    this.load();
  }

  async load() {
    try {
      const address = `${this.getAttribute("api")}?trigger_type=${this.#cause}`;
      await this.#order.read(() => call("GET", address), (preview) => { this.#preview = preview; });
      this.#error = "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = error.message;
    }
    this.update();
  }

  template() {
    return html`<section class="card card-pad col"><h3>Context of a new run</h3>
      <label class="sr" for="cause">Started by</label><select class="select input-s" id="cause" @change=${({ target }) => { this.#cause = target.value; this.load(); }}>
        ${CAUSES.map(([value, label]) => html`<option value=${value} ?selected=${value === this.#cause}>${label}</option>`)}</select>
      ${this.#error ? html`<p class="field-error">${this.#error}</p>` : this.#parts()}</section>`;
  }

  #parts() {
    if (!this.#preview) return html`<p class="muted" aria-busy="true">Loading…</p>`;
    const { parts: prompt, tools, tokens, window } = this.#preview;
    const toolTokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
    const parts = [...prompt, { name: `Tools, ${tools.length}`, text: tools.map(({ name, description }) => `${name}: ${description}`).join("\n\n"), tokens: toolTokens }];
    const share = window ? `, ${Math.max(1, Math.round((tokens / window) * 100))} % of ${window.toLocaleString("en")}` : "";
    return html`<p class="hint">What the model gets before the first message: about ${tokens.toLocaleString("en")} tokens${share}. Saved settings only.</p>
      ${bar(parts, tokens)}
      <ul class="legend">${parts.map(({ name, text, tokens: count }, index) => html`<li><span class="sw sw-${(index % TONES) + 1}"></span>
        <details class="part"><summary>${visible(name[0].toUpperCase() + name.slice(1).replaceAll("_", " "))}</summary><pre class="pre-wrap small">${visible(text)}</pre></details><span class="num">${count.toLocaleString("en")}</span></li>`)}</ul>`;
  }
}

function bar(parts, total) {
  let x = 0;
  return html`<svg class="stackbar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${parts.map(({ tokens }, index) => {
    const width = total ? (tokens / total) * 100 : 0;
    const piece = svg`<rect class="sw-${(index % TONES) + 1}" x=${x} y="0" width=${width} height="4"></rect>`;
    x += width;
    return piece;
  })}</svg>`;
}

customElements.define("paca-preview", PacaPreview);
