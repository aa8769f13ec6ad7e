// The live part of the style guide: rows that the page's own reducer and templates make from recorded frames.

import { html, render } from "../../vendor/lit-html/lit-html.js";
import { pageAnnouncer } from "../core/announce.js";
import { GrowingMarkdown } from "../core/markdown.js";
import "../core/shell.js";
import { sheet } from "../core/keys.js";
import { composer } from "../conversation/composer.js";
import { queuedMessages } from "../conversation/queued-messages.js";
import { fold, initialState } from "../conversation/reduce.js";
import { rowTemplate } from "../conversation/rows.js";
import { rows } from "../conversation/row-selectors.js";
import { PacaConversation } from "../conversation/conversation-element.js";
import { ADA, HOSTILE_ROWS, OTHER_ROWS, ROSA, RUN, TOOL_STATES, framesOf } from "./frames.js";

/** The rows of some frames; clicks open and close them as on the page. */
class Sample extends HTMLElement {
  choices = new Map();
  prose = new Map();

  connectedCallback() {
    this.state = fold(initialState({ status: "running" }), SAMPLES.get(this.dataset.rows));
    this.show();
  }

  show() {
    const found = rows(this.state).filter((row) => row.kind !== "now");
    render(html`<div class="flow">${found.map((row) => rowTemplate(row, this.context))}</div>`, this);
  }

  get context() {
    return {
      agent: ROSA, me: ADA, members: new Map([[ADA.id, ADA]]), mayWrite: true, demo: this.state.demo,
      model: this.state.model, settingsUrl: "#", api: "#", conversationUrl: () => "#", acts: { goOn: () => {}, stop: () => {} },
      isOpen: (row) => this.choices.get(row.key) ?? this.dataset.open === "yes",
      onToggle: (key, open) => {
        this.choices.set(key, open);
        this.show();
      },
      prose: (key, text, done) => {
        if (!this.prose.has(key)) this.prose.set(key, new GrowingMarkdown());
        return this.prose.get(key).update(text, done);
      },
    };
  }
}

const SAMPLES = new Map([["tools", TOOL_STATES], ["rows", OTHER_ROWS], ["hostile", HOSTILE_ROWS]]);

/** Stands in for the connection: plays recorded frames, and echoes sent messages as stored ones. */
class Player {
  #store;
  #frames = framesOf(RUN, { start: Date.now() - RUN.length * 5000 });
  #at = 0;

  constructor(store) {
    this.#store = store;
  }

  async page(query = "") {
    return { results: query ? [] : this.#take(this.#paced ? 5 : this.#frames.length) };
  }

  open() {
    this.#store.dispatch({ act: "connection", value: "open" });
    if (this.#paced) this.timer = setInterval(() => this.#step(), 50);
    else for (const frame of this.#frames.filter((each) => each.seq === null)) this.#store.dispatch(frame);
  }

  close() {
    clearInterval(this.timer);
  }

  sendMessage(text, onBusy) {
    const clientId = String(Math.random());
    this.#store.dispatch({ act: "send", client_id: clientId, text, on_busy: onBusy, at: new Date().toISOString() });
    setTimeout(() => this.#arrive("message.received", {
      text, author_id: ADA.id, author_name: ADA.name, client_id: clientId, on_busy: onBusy,
    }), 400);
  }

  command(type) {
    if (type !== "stop") return;
    this.close();
    setTimeout(() => {
      this.#arrive("turn.finished", { number: 1, status: "stopped", reason: "by_person", steps: 4 });
      this.#arrive("conversation.stopped", { reason: "by_person", by: ADA.name });
    }, 400);
  }

  async rename(title) {
    this.#arrive("title.changed", { title });
  }

  async workspace() {
    return { exists: true, bytes: 12_400_000, limit_bytes: 2 ** 31 };
  }

  async removeFiles() {
    this.#arrive("sandbox.removed", { kept: false });
  }

  #arrive(type, data) {
    const [frame] = framesOf([[type, data]], { first: this.#store.state.run.seq + 1, start: Date.now() });
    this.#store.dispatch(frame);
  }

  get #paced() {
    return new URLSearchParams(location.search).has("play");
  }

  #step() {
    if (this.#at >= this.#frames.length) return this.close();
    for (const frame of this.#take(1)) this.#store.dispatch(frame);
    return undefined;
  }

  #take(count) {
    const taken = this.#frames.slice(this.#at, this.#at + count);
    this.#at += count;
    return taken.filter((frame) => this.#paced || frame.seq !== null);
  }
}

class RecordedConversation extends PacaConversation {
  connect() {
    return new Player(this.store);
  }
}

function composers(place) {
  const queue = [{ key: "queued", text: "Also add a line to the changelog", on_busy: "queue" }];
  const common = { agent: "Rosa", facts: "", jump: "", efforts: ["quick", "determined"], effort: "standard", onEffort() {}, blocked: false, onSend() {}, onInput() {}, onDismiss() {} };
  render(html`${composer({ ...common, busy: false, queued: queuedMessages([]), refused: null })}<br>
    ${composer({ ...common, busy: true, queued: queuedMessages(queue), refused: { detail: "The message is too long." } })}`, place);
}

customElements.define("paca-sample", Sample);
customElements.define("paca-recorded", RecordedConversation);
composers(document.getElementById("composers"));
render(sheet(() => {}), document.getElementById("key-sheet"));
document.getElementById("announce").addEventListener("click", () => pageAnnouncer().say("Rosa: ran tests, 412 passed"));
