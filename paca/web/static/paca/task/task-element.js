// <paca-task>: the page of one task, live: title, description, timeline, comments and properties.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { pageAnnouncer } from "../core/announce.js";
import { ApiError } from "../core/api.js";
import { ask } from "../core/dialog.js";
import { PacaElement, jsonAttribute } from "../core/element.js";
import { icon } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { ProjectSocket } from "../core/project-socket.js";
import { visible } from "../core/terminal.js";
import { CommentBox } from "./comment-box.js";
import { Description } from "./description.js";
import { properties } from "./properties.js";
import { rowOf } from "./rows.js";
import { TaskData } from "./task-data.js";
import { timelineRows } from "./timeline.js";

const VIEWS = [["all", "All"], ["comments", "Comments"], ["runs", "Runs"]];

export class PacaTask extends PacaElement {
  notice = null; // {text, retry}
  shown = "all";
  answering = ""; // the id of the comment that is being answered
  editingComment = "";
  #editingTitle = false;
  #loaded = false;
  #socket;
  #boxes = new Map(); // place -> CommentBox
  #markdown = new Map(); // comment id -> {text, nodes}

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.data = new TaskData(this.page);
    this.description = new Description(this);
    this.announcer = pageAnnouncer();
    this.#socket = new ProjectSocket(this.page.urls.socket, {
      onChanges: (changes) => this.#changed(changes),
      onMissed: () => this.load(),
    });
    this.#socket.open();
    this.load();
  }

  disconnectedCallback() {
    this.#socket.close();
  }

  async load() {
    await this.#attempt(async () => {
      await this.data.load();
      await this.data.loadSuggestion();
      if (!this.#loaded) this.replaceChildren();
      this.#loaded = true;
    }, () => this.load());
  }

  /** Run an action; its ApiError is shown with a way to try again. Gives whether it succeeded. */
  async #attempt(action, retry = null) {
    try {
      await action();
      this.notice = null;
      return true;
    } catch (error) {
      this.show(error, retry);
      return false;
    } finally {
      if (this.#loaded) this.update();
    }
  }

  show(error, retry = null) {
    if (!(error instanceof ApiError)) throw error;
    this.notice = { text: error.message, retry };
    this.announcer.alert(error.message);
    if (this.#loaded) this.update();
  }

  /** Change fields of the task as it is now. */
  change(fields) {
    return this.#attempt(() => this.data.change(fields, undefined), () => this.change(fields));
  }

  /** Assign members; an agent starts at once, which the page says. */
  async assign(ids, member) {
    const stored = await this.change({ assignee_ids: ids });
    if (stored && member.kind === "agent") this.announcer.say(`${member.name} starts at once`);
    if (stored) await this.#attempt(() => this.data.loadRuns());
  }

  conversationUrl(id) {
    return this.page.urls.conversation.replace("CONVERSATION", id);
  }

  async stop(run) {
    await this.#attempt(async () => {
      await this.data.stop(run.id);
      await this.data.loadRuns();
    });
  }

  async #changed(changes) {
    const { number } = this.page;
    const mine = changes.some(({ noun, id }) => noun === "task" && Number(id) === number);
    const comments = changes.some(({ noun }) => noun === "comment");
    const runs = changes.some(({ noun }) => ["conversation", "agent", "suggestion"].includes(noun));
    if (!mine && !comments && !runs) return;
    await this.#attempt(async () => {
      await Promise.all([
        mine && this.data.loadTask(), mine && this.data.loadActivity(), (mine || comments) && this.data.loadComments(),
        (mine || runs) && this.data.loadRuns(), (mine || runs) && this.data.loadSuggestion(),
      ]);
    });
  }

  // --- comments -----------------------------------------------------------------------------------

  /** The field for a place, kept while it is open so that its words stay. */
  #box(place, options) {
    if (!this.#boxes.has(place)) this.#boxes.set(place, new CommentBox(this, { place: `${this.page.urls.one}:${place}:${this.page.me.id}`, ...options }));
    return this.#boxes.get(place);
  }

  get newComment() {
    return this.#box("new", { send: (text) => this.data.comment(text, null) });
  }

  answerBox(comment) {
    return this.#box(`answer:${comment.id}`, {
      label: "Answer", submit: "Answer", cancel: () => this.answer(null),
      send: async (text) => {
        await this.data.comment(text, comment.id);
        this.answering = "";
      },
    });
  }

  editBox(comment) {
    return this.#box(`edit:${comment.id}`, {
      label: "Edit the comment", submit: "Save", text: comment.text, cancel: () => this.#closeEdit(comment),
      send: async (text) => {
        await this.data.editComment(comment, text);
        this.#closeEdit(comment);
      },
    });
  }

  answer(comment) {
    this.answering = comment?.parent ?? comment?.id ?? "";
    this.flush();
    this.querySelector(".sub-flow .comment-box textarea")?.focus();
  }

  startEditing(comment) {
    this.editingComment = comment.id;
    this.flush();
    this.querySelector(".timeline .comment-box textarea")?.focus();
  }

  #closeEdit(comment) {
    this.#boxes.get(`edit:${comment.id}`)?.clear();
    this.#boxes.delete(`edit:${comment.id}`);
    this.editingComment = "";
    this.update();
  }

  async deleteComment(comment) {
    const sure = await ask({ title: "Delete this comment?", text: "Its text goes for everybody. This cannot be undone.", yes: "Delete" });
    if (sure) await this.#attempt(() => this.data.deleteComment(comment));
  }

  /** The nodes of a comment's text, rendered once for each text. */
  markdownOf(id, text) {
    const known = this.#markdown.get(id);
    if (known?.text === text) return known.nodes;
    const nodes = new GrowingMarkdown().update(text, true);
    this.#markdown.set(id, { text, nodes });
    return nodes;
  }

  // --- the page -----------------------------------------------------------------------------------

  template() {
    const { task } = this.data;
    if (!this.#loaded) return nothing;
    const rows = timelineRows(this.data, this.shown);
    return html`<div class="task"><div class="task-main"><div class="task-in">${this.#noticeTemplate()}${this.#title(task)}${this.description.template()}
      ${this.#subtasks(task)}
      <div class="section-h"><h2>Activity</h2><div class="segmented" role="group" aria-label="Show">${VIEWS.map(([view, label]) => html`<button type="button"
        aria-pressed=${this.shown === view ? "true" : "false"} @click=${() => { this.shown = view; this.update(); }}>${label}${view === "runs" && this.data.runs.length ? html`<span class="n num">${this.data.runs.length}</span>` : nothing}</button>`)}</div></div>
      <div class="timeline">${repeat(rows, (row) => row.key ?? row.comment?.id ?? row.run?.id, (row) => rowOf(row, this))}</div>
      ${this.page.mayWrite ? this.newComment.template() : html`<p class="watching">${icon("eye")}You can read only. An owner of the project can give you permission to write.</p>`}
      </div></div>${properties(this)}</div>`;
  }

  #noticeTemplate() {
    if (!this.notice) return nothing;
    return html`<div class="notice is-bad">${icon("circle-alert")}<div>${this.notice.text}</div>
      ${this.notice.retry ? html`<button type="button" class="btn btn-s" @click=${this.notice.retry}>Try again</button>` : nothing}
      <button type="button" class="btn btn-s btn-quiet" @click=${() => { this.notice = null; this.update(); }}>Close</button></div>`;
  }

  #title(task) {
    if (!this.#editingTitle) {
      return html`<h1 class="task-title"><bdi>${visible(task.title)}</bdi>${this.page.mayWrite ? html` <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Rename" title="Rename"
        @click=${() => this.#renameTitle()}>${icon("pencil")}</button>` : nothing}</h1>`;
    }
    return html`<form class="row" @submit=${(event) => { event.preventDefault(); this.#saveTitle(event.target.elements.title.value); }}>
      <input class="input" name="title" maxlength="200" aria-label="Title" .value=${task.title} @keydown=${(event) => {
        if (event.key === "Escape") { event.stopPropagation(); this.#editingTitle = false; this.update(); }
      }}><button class="btn btn-primary">Save</button></form>`;
  }

  #renameTitle() {
    this.#editingTitle = true;
    this.flush();
    this.querySelector("input[name=title]").select();
  }

  async #saveTitle(title) {
    const known = this.data.task.updated_at;
    const stored = await this.#attempt(() => this.data.change({ title: title.trim() }, known));
    if (!stored) return;
    this.#editingTitle = false;
    document.title = `${this.page.key} ${title.trim()} · Paca`;
    this.update();
  }

  #subtasks({ subtasks = [] }) {
    if (!subtasks.length) return nothing;
    return html`<div class="section-h"><h2>Subtasks</h2></div><ul class="rowlist">${subtasks.map(({ number, key, title }) => html`<li><a class="link" href=${this.page.urls.task.replace("TASK", number)}><span class="num">${key}</span> <bdi>${visible(title)}</bdi></a></li>`)}</ul>`;
  }
}

customElements.define("paca-task", PacaTask);
