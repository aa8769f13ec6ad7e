// <paca-conversation>: the page of one conversation, from the bar to the composer.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { pageAnnouncer } from "../core/announce.js";
import { ApiError } from "../core/api.js";
import { copyFrom } from "../core/copy.js";
import { PacaElement, jsonAttribute } from "../core/element.js";
import { icon } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { Store } from "../core/store.js";
import { composer } from "./composer.js";
import { Connection } from "./connection.js";
import { Draft } from "./draft.js";
import { Follow } from "./follow.js";
import { emptyHistory, historyReducer } from "./history.js";
import { rowTemplate, sentenceOf } from "./rows.js";
import { isBusy, queue, rows } from "./select.js";
import { topbar } from "./topbar.js";
import { tokensInWords } from "./usage.js";

const NOT_HERE = {
  "signed-out": ["You are signed out.", "The run goes on. Sign in again to see it."],
  forbidden: ["You may no longer see this conversation.", "An owner of the project can give you access."],
  missing: ["This conversation is gone.", "It was deleted, or the project was."],
};
const LOST_SHOWN_MS = 1200;

export class PacaConversation extends PacaElement {
  renaming = false;
  #rowCache = new Map();
  #choices = new Map(); // key -> open, as the reader wants it
  #prose = new Map(); // key -> GrowingMarkdown
  #announced = 0;
  #unseen = 0;
  #trouble = "";
  #loading = "first"; // first, older, failed or ""
  #lostLong = false;

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.members = new Map(this.page.members.map((member) => [member.id, member]));
    this.store = new Store(historyReducer, emptyHistory(this.page.conversation));
    this.store.subscribe((after, before, action) => this.#changed(after.run, before.run, action));
    this.draft = new Draft(this.page.conversation.id);
    this.announcer = pageAnnouncer();
    this.connection = this.connect();
    // What the server has drawn stays until there is something better to show in its place.
    this.flush();
    this.start();
  }

  disconnectedCallback() {
    this.connection.close();
    this.follow?.observer.disconnect();
  }

  /** The way to the server; the style guide plays recorded frames instead. */
  connect() {
    const { api, socket } = this.page.urls;
    return new Connection(this.store, { base: api, socketPath: socket, onTrouble: (text) => this.#say(text) });
  }

  async start() {
    try {
      const { results } = await this.connection.page();
      this.#loading = "";
      this.store.dispatch({ act: "newest", frames: results });
      this.#announced = this.run.seq;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#loading = "failed";
      this.#say(error.detail ?? error.message);
    }
    this.connection.open();
    this.update();
  }

  get run() {
    return this.store.state.run;
  }

  get field() {
    return this.querySelector("textarea");
  }

  // --- acts of the reader -------------------------------------------------------------------------

  send = (how) => {
    const text = this.field.value;
    if (!text.trim()) return;
    this.connection.say(text, how);
    this.field.value = "";
    this.draft.text = "";
    this.follow.toEnd();
    this.field.focus();
  };

  stop = () => {
    if (!isBusy(this.run) || this.run.stopping || !this.page.mayWrite) return false;
    this.store.dispatch({ act: "stopping", value: true });
    this.connection.command("stop");
    return true;
  };

  goOn = () => this.connection.command("continue");

  startRenaming = () => {
    this.renaming = true;
    this.flush();
    this.querySelector("[name=title]").select();
  };

  stopRenaming = () => {
    this.renaming = false;
    this.update();
  };

  rename = async (title) => {
    if (!this.renaming) return;
    this.stopRenaming();
    if (!title.trim() || title.trim() === this.run.title) return;
    try {
      await this.connection.rename(title);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#say(error.message);
    }
  };

  copyLink = (event) => copyFrom(event.currentTarget, location.href);

  /** Open or close all cards: open them unless all are open. */
  toggleAll = () => {
    const cards = rows(this.run).flatMap((row) => (row.kind === "group" ? [row, ...row.entries] : [row]))
      .filter((row) => ["tool", "group", "thought"].includes(row.kind));
    const open = !cards.every((row) => this.isOpen(row));
    for (const row of cards) this.#choices.set(row.key, open);
    this.follow.letGo();
    this.update();
  };

  isOpen = (row) => {
    const chosen = this.#choices.get(row.key);
    if (chosen !== undefined) return chosen;
    const call = row.kind === "tool" ? (row.entry ?? row) : null;
    if (!call) return false;
    return ["running", "failed", "unknown"].includes(call.state) || Boolean(row.last && call.tool === "bash");
  };

  #toggled = (key, open) => {
    this.#choices.set(key, open);
    this.follow.letGo();
    this.update();
  };

  // --- changes ------------------------------------------------------------------------------------

  #changed(after, before, action) {
    if (after.refused && after.refused !== before.refused) this.#giveBack(after.refused.text);
    if (after.connection !== before.connection) this.#connectionChanged(after.connection);
    if (action.act !== "older" && action.act !== "newest" && !this.follow?.atEnd) {
      this.#unseen += Math.max(0, after.order.length - before.order.length);
    }
    if (after.status !== before.status || after.title !== before.title) dispatchEvent(new Event("paca:status"));
    if (after.title !== before.title && after.title) document.title = `${after.title} · Paca`;
    this.update();
  }

  #giveBack(text) {
    this.field.value = this.field.value ? `${text}\n\n${this.field.value}` : text;
    this.draft.text = this.field.value;
    this.field.focus();
  }

  // A reconnect within a second is nobody's business; a longer one is.
  #connectionChanged(value) {
    clearTimeout(this.lostTimer);
    this.#lostLong = false;
    if (value !== "lost") return;
    this.lostTimer = setTimeout(() => {
      this.#lostLong = this.run.connection === "lost";
      this.update();
    }, LOST_SHOWN_MS);
  }

  #say(text) {
    this.#trouble = text;
    this.announcer.alert(text);
    this.update();
  }

  #older = async () => {
    if (this.#loading || this.run.first <= 1) return;
    this.#loading = "older";
    this.update();
    try {
      const { results } = await this.connection.page(`&before=${this.run.first}`);
      this.follow.hold();
      this.store.dispatch({ act: "older", frames: results });
      this.flush();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#say(error.message);
    } finally {
      this.#loading = "";
    }
  };

  #moved = () => {
    if (!this.follow.atEnd || !this.#unseen) return;
    this.#unseen = 0;
    this.update();
  };

  // --- rendering ----------------------------------------------------------------------------------

  flush() {
    if (!this.follow) this.replaceChildren();
    super.flush();
  }

  template() {
    const found = rows(this.run, this.#rowCache);
    return html`${topbar(this)}<div class="work"><section class="thread" aria-label="Conversation">
      <div class="thread-scroll" tabindex="0" role="log" aria-live="off" aria-label="Messages and steps">
        <div class="flow ${found.length > 150 ? "is-long" : ""}">${this.#beginning()}
          ${repeat(found, (row) => row.key, (row) => this.#row(row))}</div></div>
      ${this.#below()}</section></div>`;
  }

  #row(row) {
    const nested = row.entries?.map((entry) => this.isOpen({ ...entry, entry })).join() ?? "";
    const { demo, model } = this.run;
    return guard([row, this.isOpen(row), nested, demo, model], () => rowTemplate(row, this.#context(demo, model)));
  }

  #context(demo, model) {
    const { agent, me, mayWrite, urls } = this.page;
    return {
      agent, me, mayWrite, demo, model, members: this.members, settingsUrl: urls.settings,
      isOpen: this.isOpen, onToggle: this.#toggled, prose: this.#nodes, acts: { goOn: this.goOn },
    };
  }

  #nodes = (key, text, done) => {
    if (!this.#prose.has(key)) this.#prose.set(key, new GrowingMarkdown());
    return this.#prose.get(key).update(text, done);
  };

  #beginning() {
    if (this.#loading === "first") return skeleton();
    if (this.#loading === "older") return html`<p class="hint earlier" role="status">Loading earlier steps…</p>`;
    return nothing;
  }

  #below() {
    const { page, run } = this;
    const jump = this.#unseen || this.follow?.atEnd === false ? this.#jump() : nothing;
    if (NOT_HERE[run.connection]) return closed(...NOT_HERE[run.connection], page);
    const notes = html`${this.#lostLong ? lost() : nothing}${this.#trouble ? this.#troubleNote() : nothing}`;
    if (!page.mayWrite) return html`<div class="composer-wrap">${jump}${notes}${watching(page)}</div>`;
    return html`${notes}${composer({
      agent: page.agent.name, busy: isBusy(run), queue: queue(run), refused: run.refused, jump,
      facts: this.#facts(), blocked: page.agent.retired, onSend: this.send,
      onInput: ({ target }) => { this.draft.text = target.value; },
      onForgive: () => this.store.dispatch({ act: "forgive" }),
    })}`;
  }

  #facts() {
    const { usage } = this.run;
    return usage.input + usage.output
      ? html`<span class="fact num desk-only" title="Tokens used by this conversation">${tokensInWords(usage)}</span>` : nothing;
  }

  #jump() {
    const text = this.#unseen ? `${this.#unseen} new` : "To the end";
    return html`<button type="button" class="btn btn-s jump" @click=${() => {
      this.#unseen = 0;
      this.follow.toEnd();
      this.update();
    }}>${icon("chevron-down")}${text}</button>`;
  }

  #troubleNote() {
    return html`<div class="notice notice-bad composer-note" role="alert">${icon("circle-x")}<div>${this.#trouble}</div>
      <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Dismiss" title="Dismiss" @click=${() => {
        this.#trouble = "";
        this.update();
      }}>${icon("x")}</button></div>`;
  }

  rendered() {
    if (!this.follow) this.#firstRender();
    this.follow.settle();
    this.#announce();
  }

  #firstRender() {
    this.follow = new Follow(this.querySelector(".thread-scroll"), { onTop: this.#older, onMove: this.#moved });
    if (this.field) this.field.value = this.draft.text;
  }

  #announce() {
    if (this.#loading || this.run.seq <= this.#announced) return;
    for (const row of this.#rowCache.values()) {
      if (row.entry?.seq > this.#announced) this.announcer.say(sentenceOf(row, this.page.agent.name));
    }
    this.#announced = this.run.seq;
  }
}

function skeleton() {
  return html`<div class="sk-flow" aria-busy="true"><span class="sr">Loading</span><div class="sk sk-w45"></div>
    <div class="sk sk-w80"></div><div class="sk sk-w60"></div></div>`;
}

function lost() {
  return html`<div class="notice composer-note" role="status">${icon("wifi-off")}
    <div><b>Connection lost.</b> The run goes on without this page. Reconnecting…</div></div>`;
}

function closed(fact, more, { urls }) {
  return html`<div class="composer-wrap"><div class="notice notice-wait" role="alert">${icon("circle-alert")}
    <div><b>${fact}</b> ${more}</div><a class="btn btn-s" href=${urls.signIn}>Sign in</a></div></div>`;
}

function watching({ project }) {
  return html`<p class="watching">${icon("eye")} You can watch. An owner of ${project} can give you the right to write.</p>`;
}

customElements.define("paca-conversation", PacaConversation);
