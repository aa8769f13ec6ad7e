// <paca-conversation>: the page of one conversation, from the top bar to the composer.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { pageAnnouncer } from "../core/announce.js";
import { ApiError, call } from "../core/api.js";
import { copyFrom } from "../core/copy.js";
import { PacaElement, jsonAttribute } from "../core/element.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { Store } from "../core/store.js";
import { composerArea, loadingRow } from "./composer-area.js";
import { BackgroundEnd } from "./background-end.js";
import { Connection } from "./connection.js";
import { emptyHistory, historyReducer } from "./history.js";
import { isBusy, newCache, queue, rows } from "./row-selectors.js";
import { NEWEST, afterGrowth, extendDown, extendUp, hiddenAbove, visibleRows } from "./row-window.js";
import { rowTemplate, sentenceOf } from "./rows.js";
import { QueueEditing } from "./queue-editing.js";
import { ScrollFollower } from "./scroll-follower.js";
import { topbar } from "./topbar.js";
import { UnsentWords, sendable, tooLong } from "./unsent-words.js";
import { WorkerWatch } from "./worker-watch.js";

const DISCONNECTED_NOTICE_MS = 1200;
const RECONNECTING = new Set(["lost", "too-many"]);
const MAX_MARKDOWN_NODES = 1000;

export class PacaConversation extends PacaElement {
  renaming = false;
  unseen = 0; // rows that were added while the reader was away from the end
  error = ""; // an error that belongs to no row or message
  workspace = null; // its size, once the menu was opened
  disconnected = false; // the connection has been lost for longer than a second
  #loading = "first"; // first, older, failed or ""
  #window = NEWEST;
  #rowCache = newCache();
  #openByKey = new Map(); // key -> open, as the reader wants it
  #markdown = new Map(); // key -> GrowingMarkdown
  #announced = 0;
  #asks; // the module of the asks, once one waits
  #forking; // its actions, once one was used
  // What the menu does: name -> action. Their module is loaded when the menu is opened.
  acts = new Proxy({}, { get: (_, name) => async (...given) => (await import("./lifecycle-actions.js")).lifecycleActions(this)[name](...given) });
  panel = null; // the modules of the panel and the meter, once there is something to show in them
  meter = null;
  strip = null; // the background commands, once there are some
  lanes = null; // the helpers, once there are some
  panelOpen = null; // as the reader wants it; null: where there is room and a list
  phoneView = "chat"; // chat or todo
  uploads = null; // the files of the next message, once there were some
  files = null; // the element with the files of the sandbox, while it is open
  #early; // what was typed into the server's field before this script ran

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.#early = earlyWords(this.field);
    this.members = new Map(this.page.members.map((member) => [member.id, member]));
    const { conversation, agent, turn } = this.page;
    // Whether a script answers, and which model, is in the log where a turn starts, which may not be loaded.
    const known = { ...conversation, model: agent.model, demo: agent.demo };
    this.store = new Store(historyReducer, emptyHistory(known, turn));
    this.store.subscribe((after, before, action) => this.#changed(after.run, before.run, action));
    this.unsent = new UnsentWords(this.page.conversation.id, this.page.me.id);
    this.backgroundEnd = new BackgroundEnd(this);
    this.queueEditing = new QueueEditing(this);
    this.announcer = pageAnnouncer();
    this.workerWatch = new WorkerWatch(this.page.urls, {
      onChange: () => this.update(),
      onDescribed: (known) => this.store.dispatch({ act: "described", conversation: known }),
    });
    this.workerWatch.onActivity(this.run.status);
    addEventListener("focus", this.#returned);
    this.connection = this.connect();
    this.#loadParts();
    this.flush();
    this.#start();
  }

  disconnectedCallback() {
    this.workerWatch.stop();
    this.backgroundEnd.stop();
    removeEventListener("focus", this.#returned);
    this.connection.close();
    this.scrollFollower?.disconnect();
  }

  /** The connection to the server; the style guide overrides it to play recorded frames. */
  connect() {
    const { api, socket } = this.page.urls;
    return new Connection(this.store, {
      base: api, socketPath: socket, unsent: this.unsent, me: this.page.me.id, onError: this.showError,
      onEditSaved: (seq) => this.queueEditing.saved(seq), onEditRefused: (text) => this.queueEditing.refused(text),
      onOtherPerson: () => location.reload(),
    });
  }

  async #start() {
    await this.reportErrors(async () => {
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

  /** The field of the composer; null for somebody who may only read. */
  get field() {
    return this.querySelector(".composer textarea");
  }

  /** Whether the reader has left the end of the flow. */
  get awayFromEnd() {
    return this.unseen > 0 || this.#window.skip > 0 || this.scrollFollower?.atEnd === false;
  }

  // --- actions of the reader -----------------------------------------------------------------------

  effort = "standard";

  chooseEffort = (name) => {
    this.effort = name;
  };

  send = (how) => {
    const text = sendable(this.field.value);
    if (!text.trim() && !this.uploads) return;
    const detail = tooLong(text);
    if (detail) {
      this.store.dispatch({ act: "refuseText", detail });
      return;
    }
    const attachments = this.uploads?.take() ?? (this.uploads ? null : []);
    if (!attachments || !(text.trim() || attachments.length)) return;
    this.connection.sendMessage(text.trim() ? text : "I attached files.", how, this.effort === "standard" ? "" : this.effort, attachments);
    this.field.value = "";
    this.unsent.draft = "";
    this.jumpToEnd();
    this.field.focus();
  };

  saveDraft = ({ target }) => {
    this.unsent.draft = target.value;
  };

  /** Upload files for the next message; without any the person chooses them. */
  attach = async (files = null) => {
    const { Uploads } = await import("../files/uploads.js");
    this.uploads ??= new Uploads(this);
    if (files) this.uploads.add(files);
    else this.uploads.choose();
  };

  /** Take a message back that is not sent yet: its text returns to the field. */
  recall = (clientId) => {
    const frame = this.connection.recall(clientId);
    if (frame) this.restoreDraft(frame.text, frame.attachments);
  };

  /** Edit the last queued message of this person; false if there is none. */
  editLast = () => {
    const mine = queue(this.run).findLast((each) => each.author_id === this.page.me.id && each.on_busy !== "interrupt");
    if (mine) this.queueEditing.start(mine);
    return Boolean(mine);
  };

  dismissRefusal = () => this.store.dispatch({ act: "dismissRefusal" });

  /** Stop the agent; false if it does not work. */
  stop = () => {
    if (!isBusy(this.run) || this.run.stopping || !this.page.mayWrite) return false;
    this.store.dispatch({ act: "stopping" });
    this.connection.command("stop");
    return true;
  };

  resume = () => this.connection.command("continue");

  /** Let later calls ask again, after somebody has approved the rest. */
  revokeRest = () => this.reportErrors(() => call("POST", `${this.page.urls.api}approvals/revoke/`, {}));

  /** End a parked conversation as stopped; it still takes new messages. */
  stopParked = () => this.connection.command("stop");

  /** Do one of the actions of `forking` with an entry. */
  #goBack = async (action, entry) => {
    const { forking } = await import("./forking.js");
    this.#forking ??= forking(this);
    await this.#forking[action](entry);
  };

  /** Load the parts of the page that have something to show now. */
  async #loadParts() {
    if (this.run.context && !this.meter) this.meter = await import("./context-meter.js");
    else if ((this.run.todo || this.run.plan) && !this.panel) this.panel = await import("./panel.js");
    else if (this.run.background && !this.strip) {
      const { BackgroundStrip } = await import("./background-strip.js");
      this.strip ??= new BackgroundStrip(this);
    }
    else if ((this.run.reason === "helpers" || this.run.team || this.page.hasTeam) && !this.lanes) {
      const { HelperLanes } = await import("./helper-lanes.js");
      this.lanes ??= new HelperLanes(this);
    }
    else return;
    this.update();
    await this.#loadParts();
  }

  /** Load what asks people: the first of them waits. */
  async #loadAsks() {
    if (this.#asks !== undefined) return;
    this.#asks = null;
    this.#asks = await import("../asks/asks.js");
    this.update();
  }

  /** Switch plan mode. */
  togglePlanMode = () => this.reportErrors(() => call("PATCH", this.page.urls.api, { plan_mode: !this.run.planMode }));

  /** Open or close the panel beside the flow. */
  togglePanel = async () => {
    this.panel ??= await import("./panel.js");
    this.panelOpen = !this.panel.isOpen(this);
    this.update();
  };

  /** Open or close the files of the sandbox. */
  toggleFiles = async () => {
    const { filesPanel } = await import("../files/files-panel.js");
    this.files = this.files ? null : filesPanel(this);
    this.update();
  };

  /** Put words into the composer where the cursor is. */
  insert = (words) => {
    this.field.setRangeText(words, this.field.selectionStart, this.field.selectionEnd, "end");
    this.unsent.draft = this.field.value;
    this.field.focus();
  };

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
      await this.reportErrors(() => this.connection.rename(title));
    }
  };

  copyLink = (event) => copyFrom(event.currentTarget, location.href);

  /** Open or close all cards: open them unless all are open. */
  toggleAll = () => {
    const cards = rows(this.run).flatMap((row) => (row.kind === "group" ? [row, ...row.entries] : [row]))
      .filter((row) => ["tool", "group", "thought"].includes(row.kind));
    const open = !cards.every((row) => this.isOpen(row));
    for (const row of cards) this.#openByKey.set(row.key, open);
    this.scrollFollower.stopFollowing();
    this.update();
  };

  jumpToEnd = () => {
    this.unseen = 0;
    this.#window = NEWEST;
    this.flush();
    this.scrollFollower.scrollToEnd();
    this.update();
  };

  isOpen = (row) => {
    const chosen = this.#openByKey.get(row.key);
    if (chosen !== undefined) return chosen;
    const call = row.kind === "tool" ? (row.entry ?? row) : null;
    if (!call) return false;
    return ["running", "failed", "unknown"].includes(call.state) || Boolean(row.last && call.tool === "bash");
  };

  #toggled = (key, open) => {
    this.#openByKey.set(key, open);
    this.scrollFollower.stopFollowing();
    this.update();
  };

  /** Show an error that belongs to no row or message; an empty text removes it. */
  showError = (text) => {
    this.error = text;
    this.announcer.alert(text);
    this.update();
  };

  /** Do something with the API, and show its error; gives whether there was none. */
  async reportErrors(act) {
    try {
      await act();
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.showError(error.message);
      return false;
    }
  }

  // --- changes ------------------------------------------------------------------------------------

  #changed(after, before, action) {
    if (action.act !== "described") this.workerWatch.onActivity(after.status);
    if (after.refused?.text && after.refused !== before.refused) this.restoreDraft(after.refused.text, after.refused.attachments);
    if (after.connection !== before.connection) this.#connectionChanged(after.connection);
    if (!["older", "newest"].includes(action.act)) this.#rowsAdded(after.order.length - before.order.length);
    if (after.status !== before.status || after.title !== before.title) dispatchEvent(new Event("paca:status"));
    if (after.status !== before.status || after.title !== before.title) this.backgroundEnd.changed(after, before);
    this.queueEditing.changed(queue(after));
    if (action.type) this.files?.received(action);
    if (action.type?.startsWith("agent.background.")) this.strip?.received(action);
    if (/^agent\.(subagent|teammate)\./.test(action.type)) this.lanes?.received(action);
    this.#loadParts();
    if (this.run.reason === "approval" || this.run.reason === "question") this.#loadAsks();
    this.update();
  }

  #rowsAdded(added) {
    if (this.scrollFollower?.atEnd !== false && !this.#window.skip) return;
    this.unseen += Math.max(0, added);
    this.#window = afterGrowth(this.#window, added);
  }

  /** Put words back into the composer, before those that are there, with the files that went with them. */
  restoreDraft(text, attachments = []) {
    if (attachments.length) this.attach([]).then(() => this.uploads.restore(attachments));
    this.unsent.draft = this.unsent.draft ? `${text}\n\n${this.unsent.draft}` : text;
    if (!this.field) return;
    this.field.value = this.unsent.draft;
    this.field.focus();
  }

  // Whoever signed out may have signed in again in another tab; the page then begins anew, with their rights.
  #returned = async () => {
    if (this.run.connection !== "signed-out") return;
    try {
      await this.connection.describe();
      location.reload();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // still signed out: the notice stays
    }
  };

  // The notice appears only if the reconnect takes longer than a second.
  #connectionChanged(value) {
    clearTimeout(this.disconnectedTimer);
    this.disconnected = false;
    if (!RECONNECTING.has(value)) return;
    this.disconnectedTimer = setTimeout(() => {
      this.disconnected = RECONNECTING.has(this.run.connection);
      this.update();
    }, DISCONNECTED_NOTICE_MS);
  }

  // --- moving through a long flow -----------------------------------------------------------------

  #nearTop = async () => {
    if (hiddenAbove(this.found, this.#window)) return this.#moveWindow(extendUp);
    if (this.#loading || this.run.first <= 1) return undefined;
    this.#loading = "older";
    this.update();
    await this.reportErrors(async () => {
      const { results } = await this.connection.page(`&before=${this.run.first}`);
      this.store.dispatch({ act: "older", frames: results });
    });
    this.#loading = "";
    this.found = rows(this.run, this.#rowCache);
    return this.#moveWindow(extendUp);
  };

  #nearEnd = () => {
    if (this.#window.skip) this.#moveWindow(extendDown);
    else if (this.scrollFollower.atEnd && this.unseen) this.jumpToEnd();
  };

  #moveWindow(way) {
    this.scrollFollower.saveAnchor();
    this.#window = way(this.#window, this.found.length);
    this.flush();
  }

  // --- rendering ----------------------------------------------------------------------------------

  flush() {
    // The markup from the server stays until the first render.
    if (!this.scrollFollower) this.replaceChildren();
    super.flush();
  }

  template() {
    this.found = rows(this.run, this.#rowCache);
    const { panel } = this;
    return html`${topbar(this)}${panel?.phoneTabs(this) ?? nothing}<div class="work ${this.files ? "has-panel has-files" : panel?.classes(this) ?? ""}" data-view=${this.phoneView}>
      <section class="thread" aria-label="Conversation">
      <div class="thread-scroll" tabindex="0" role="log" aria-live="off" aria-label="Messages and steps">
        <div class="flow">${loadingRow(this.#loading)}
          ${repeat(visibleRows(this.found, this.#window), (row) => row.key, (row) => this.#row(row))}</div></div>
      ${composerArea(this)}</section>${this.files ?? panel?.panel(this) ?? nothing}</div>`;
  }

  #row(row) {
    const nested = row.entries?.map((entry) => this.isOpen({ ...entry, entry })).join() ?? "";
    const { demo, model } = this.run;
    return guard([row, this.isOpen(row), nested, demo, model, row.kind === "ask" && this.#asks], () => rowTemplate(row, this.#context(demo, model)));
  }

  #context(demo, model) {
    const { agent, me, mayWrite, mayApprove, urls, deletedOrigins } = this.page;
    return {
      agent, me, mayWrite, mayApprove, asks: this.#asks, demo, model, members: this.members, settingsUrl: urls.settings, api: urls.api,
      isOpen: this.isOpen, onToggle: this.#toggled, prose: this.#markdownNodes, acts: { resume: this.resume, stop: this.stopParked, goBack: this.#goBack },
      conversationUrl: (id) => !deletedOrigins?.includes(id) && urls.next.replace("CONVERSATION", id),
    };
  }

  #markdownNodes = (key, text, done) => {
    if (!this.#markdown.has(key)) this.#markdown.set(key, new GrowingMarkdown());
    return this.#markdown.get(key).update(text, done);
  };

  rendered() {
    if (!this.scrollFollower) {
      const scroller = this.querySelector(".thread-scroll");
      this.scrollFollower = new ScrollFollower(scroller, {
        onNearTop: this.#nearTop, onNearEnd: this.#nearEnd, onEndChange: () => this.update(),
      });
      this.#takeEarlyWords();
    }
    this.scrollFollower.restore();
    if (this.#markdown.size > MAX_MARKDOWN_NODES) this.#dropFarNodes();
    this.#announce();
  }

  #takeEarlyWords() {
    if (!this.field) return;
    this.unsent.draft += this.#early.text;
    this.field.value = this.unsent.draft;
    if (this.#early.focused) this.field.focus();
    this.field.setSelectionRange(this.field.value.length, this.field.value.length);
    if (location.search === "?write") history.replaceState(null, "", location.pathname + location.hash);
  }

  /** Drop the Markdown nodes of rows outside the window; they are made again when they come back. */
  #dropFarNodes() {
    const near = new Set(visibleRows(this.found, this.#window).map((row) => row.key));
    for (const key of this.#markdown.keys()) if (!near.has(key)) this.#markdown.delete(key);
  }

  #announce() {
    if (this.#loading || this.run.seq <= this.#announced) return;
    for (const row of this.found) {
      if (row.entry?.seq > this.#announced) this.announcer.say(sentenceOf(row, this.page.agent.name));
    }
    this.#announced = this.run.seq;
  }
}

function earlyWords(field) {
  // The browser may not have come to the field's `autofocus` yet.
  const focused = field !== null && (document.activeElement === field || location.search === "?write");
  return { text: field?.value ?? "", focused };
}

customElements.define("paca-conversation", PacaConversation);
