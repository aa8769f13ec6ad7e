// <paca-conversation>: the page of one conversation, from the bar to the composer.

import { html } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { pageAnnouncer } from "../core/announce.js";
import { ApiError } from "../core/api.js";
import { copyFrom } from "../core/copy.js";
import { PacaElement, jsonAttribute } from "../core/element.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { Store } from "../core/store.js";
import { Attendance } from "./attendance.js";
import { Connection } from "./connection.js";
import { Draft } from "./draft.js";
import { Follow } from "./follow.js";
import { emptyHistory, historyReducer } from "./history.js";
import { rowTemplate, sentenceOf } from "./rows.js";
import { isBusy, newCache, rows } from "./select.js";
import { below, beginning } from "./surround.js";
import { topbar } from "./topbar.js";
import { NEWEST, above, down, grown, shown, up } from "./window.js";

const LOST_SHOWN_MS = 1200;
const PROSE_KEPT = 1000;

export class PacaConversation extends PacaElement {
  renaming = false;
  unseen = 0; // rows that came while the reader was elsewhere
  trouble = ""; // a failure that has no place of its own
  lost = false; // the connection has been gone for longer than a blink
  #loading = "first"; // first, older, failed or ""
  #window = NEWEST;
  #rowCache = newCache();
  #choices = new Map(); // key -> open, as the reader wants it
  #prose = new Map(); // key -> GrowingMarkdown
  #announced = 0;

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.members = new Map(this.page.members.map((member) => [member.id, member]));
    this.store = new Store(historyReducer, emptyHistory(this.page.conversation));
    this.store.subscribe((after, before, action) => this.#changed(after.run, before.run, action));
    this.draft = new Draft(this.page.conversation.id);
    this.announcer = pageAnnouncer();
    this.attendance = new Attendance(this.page.urls.workers, () => this.update());
    this.attendance.heard(this.run.status);
    this.connection = this.connect();
    this.flush();
    this.#start();
  }

  disconnectedCallback() {
    this.attendance.end();
    this.connection.close();
    this.follow?.end();
  }

  /** The way to the server; the style guide plays recorded frames instead. */
  connect() {
    const { api, socket } = this.page.urls;
    return new Connection(this.store, { base: api, socketPath: socket, onTrouble: this.say });
  }

  async #start() {
    await this.#trying(async () => {
      const { results } = await this.connection.page();
      this.store.dispatch({ act: "newest", frames: results });
      this.#announced = this.run.seq;
    });
    this.#loading = "";
    this.connection.open();
    this.update();
  }

  get run() {
    return this.store.state.run;
  }

  get field() {
    return this.querySelector("textarea");
  }

  /** Whether the reader has left the end of the flow. */
  get away() {
    return this.unseen > 0 || this.#window.skip > 0 || this.follow?.atEnd === false;
  }

  // --- acts of the reader -------------------------------------------------------------------------

  send = (how) => {
    const text = this.field.value;
    if (!text.trim()) return;
    this.connection.say(text, how);
    this.field.value = "";
    this.draft.text = "";
    this.toEnd();
    this.field.focus();
  };

  typed = ({ target }) => {
    this.draft.text = target.value;
  };

  forgive = () => this.store.dispatch({ act: "forgive" });

  /** False when there is nothing to stop. */
  stop = () => {
    if (!isBusy(this.run) || this.run.stopping || !this.page.mayWrite) return false;
    this.store.dispatch({ act: "stopping", value: true });
    this.connection.command("stop");
    return true;
  };

  goOn = () => this.connection.command("continue");

  /** Give up what is parked: the conversation ends as stopped, and takes new messages. */
  drop = () => this.connection.command("stop");

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
    if (title.trim() && title.trim() !== this.run.title) {
      await this.#trying(() => this.connection.rename(title));
    }
  };

  freeWorkspace = async () => {
    const question = "Remove all files in the sandbox of this conversation, for good? What was said stays.";
    if (window.confirm(question)) await this.#trying(() => this.connection.freeWorkspace());
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

  toEnd = () => {
    this.unseen = 0;
    this.#window = NEWEST;
    this.flush();
    this.follow.toEnd();
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

  /** Tell of a failure that has no place of its own; an empty text takes it back. */
  say = (text) => {
    this.trouble = text;
    this.announcer.alert(text);
    this.update();
  };

  async #trying(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.say(error.message);
    }
  }

  // --- changes ------------------------------------------------------------------------------------

  #changed(after, before, action) {
    this.attendance.heard(after.status);
    if (after.refused && after.refused !== before.refused) this.#giveBack(after.refused.text);
    if (after.connection !== before.connection) this.#connectionChanged(after.connection);
    if (!["older", "newest"].includes(action.act)) this.#grew(after.order.length - before.order.length);
    if (after.status !== before.status || after.title !== before.title) dispatchEvent(new Event("paca:status"));
    if (after.title !== before.title && after.title) document.title = `${after.title} · Paca`;
    this.update();
  }

  #grew(added) {
    if (this.follow?.atEnd !== false && !this.#window.skip) return;
    this.unseen += Math.max(0, added);
    this.#window = grown(this.#window, added);
  }

  #giveBack(text) {
    this.field.value = this.field.value ? `${text}\n\n${this.field.value}` : text;
    this.draft.text = this.field.value;
    this.field.focus();
  }

  // A reconnect within a second is nobody's business; a longer one is.
  #connectionChanged(value) {
    clearTimeout(this.lostTimer);
    this.lost = false;
    if (value !== "lost") return;
    this.lostTimer = setTimeout(() => {
      this.lost = this.run.connection === "lost";
      this.update();
    }, LOST_SHOWN_MS);
  }

  // --- moving through a long flow -----------------------------------------------------------------

  #nearTop = async () => {
    if (above(this.found, this.#window)) return this.#slide(up);
    if (this.#loading || this.run.first <= 1) return undefined;
    this.#loading = "older";
    this.update();
    await this.#trying(async () => {
      const { results } = await this.connection.page(`&before=${this.run.first}`);
      this.store.dispatch({ act: "older", frames: results });
    });
    this.#loading = "";
    this.found = rows(this.run, this.#rowCache);
    return this.#slide(up);
  };

  #nearEnd = () => {
    if (this.#window.skip) this.#slide(down);
    else if (this.follow.atEnd && this.unseen) this.toEnd();
  };

  #slide(way) {
    this.follow.hold();
    this.#window = way(this.#window, this.found.length);
    this.flush();
  }

  // --- rendering ----------------------------------------------------------------------------------

  flush() {
    // What the server has drawn stays until there is something to put in its place.
    if (!this.follow) this.replaceChildren();
    super.flush();
  }

  template() {
    this.found = rows(this.run, this.#rowCache);
    return html`${topbar(this)}<div class="work"><section class="thread" aria-label="Conversation">
      <div class="thread-scroll" tabindex="0" role="log" aria-live="off" aria-label="Messages and steps">
        <div class="flow">${beginning(this.#loading)}
          ${repeat(shown(this.found, this.#window), (row) => row.key, (row) => this.#row(row))}</div></div>
      ${below(this)}</section></div>`;
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
      isOpen: this.isOpen, onToggle: this.#toggled, prose: this.#nodes, acts: { goOn: this.goOn, drop: this.drop },
    };
  }

  #nodes = (key, text, done) => {
    if (!this.#prose.has(key)) this.#prose.set(key, new GrowingMarkdown());
    return this.#prose.get(key).update(text, done);
  };

  rendered() {
    if (!this.follow) {
      const scroller = this.querySelector(".thread-scroll");
      this.follow = new Follow(scroller, {
        onTop: this.#nearTop, onEnd: this.#nearEnd, onTurn: () => this.update(),
      });
      if (this.field) this.field.value = this.draft.text;
    }
    this.follow.settle();
    if (this.#prose.size > PROSE_KEPT) this.#forget();
    this.#announce();
  }

  /** Nodes of rows that are far away are made again when they come back. */
  #forget() {
    const near = new Set(shown(this.found, this.#window).map((row) => row.key));
    for (const key of this.#prose.keys()) if (!near.has(key)) this.#prose.delete(key);
  }

  #announce() {
    if (this.#loading || this.run.seq <= this.#announced) return;
    for (const row of this.found) {
      if (row.entry?.seq > this.#announced) this.announcer.say(sentenceOf(row, this.page.agent.name));
    }
    this.#announced = this.run.seq;
  }
}

customElements.define("paca-conversation", PacaConversation);
