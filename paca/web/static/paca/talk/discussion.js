// The comments on a task or a doc: threads, with fields to write, answer and edit.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { ask } from "../core/dialog.js";
import { avatar, icon, iconButton } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { visible } from "../core/terminal.js";
import { CommentBox } from "./comment-box.js";
import { setOffMentions } from "./mentions-in-text.js";

const MAX_PAGES = 20;

/** All rows of a list of the API, oldest first, up to a sane number of pages. Throws ApiError. */
export async function everyPage(url) {
  const rows = [];
  let next = `${url}${url.includes("?") ? "&" : "?"}limit=200`;
  for (let page = 0; next && page < MAX_PAGES; page += 1) {
    const found = await call("GET", next);
    rows.push(...found.results);
    next = found.next;
  }
  return rows.sort((one, other) => (at(one) < at(other) ? -1 : 1));
}

/** Bring the comment that the address names into view, once it is there. */
export function showAddressed(host) {
  if (!location.hash.startsWith("#comment-")) return;
  host.flush();
  const comment = document.getElementById(location.hash.slice(1));
  if (!comment || comment.dataset.shown) return;
  comment.dataset.shown = "";
  comment.tabIndex = -1;
  comment.scrollIntoView({ block: "center" });
  comment.focus({ preventScroll: true });
}

function at(row) {
  return row.at ?? row.created_at;
}

export class Discussion {
  comments = [];
  #host;
  #url;
  #order = new AnswerOrder();
  #answering = ""; // the id of the comment that is being answered
  #editing = "";
  #boxes = new Map(); // place -> CommentBox
  #markdown = new Map(); // comment id -> {text, nodes}

  /** `host` is the element of the page: {page {me, members, mayComment}, update, flush, attempt}; `url` lists the comments. */
  constructor(host, url) {
    this.#host = host;
    this.#url = url;
  }

  /** Load the comments. Throws ApiError. */
  async load() {
    await this.#order.read(() => everyPage(this.#url), (comments) => { this.comments = comments; });
  }

  // --- writing ------------------------------------------------------------------------------------

  async #add(text, parent, action) {
    await this.#order.write(() => call("POST", this.#url, { text, parent }, { idempotencyKey: action }), (made) => {
      if (!this.comments.some(({ id }) => id === made.id)) this.comments = [...this.comments, made];
    });
  }

  async #edit({ id, updated_at: since }, text) {
    await this.#order.write(() => call("PATCH", `${this.#url}${id}/`, { text }, { ifMatch: since }), (edited) => {
      this.comments = this.comments.map((each) => (each.id === id ? edited : each));
    }, () => this.load());
  }

  async #delete(comment) {
    const sure = await ask({ title: "Delete this comment?", text: "Its text goes for everybody. This cannot be undone.", yes: "Delete" });
    if (!sure) return;
    await this.#host.attempt(async () => {
      await call("DELETE", `${this.#url}${comment.id}/`);
      await this.load();
    });
  }

  // --- fields -------------------------------------------------------------------------------------

  /** The field of a place; it is kept while it is open, so that its words stay. */
  #box(place, options) {
    const { page } = this.#host;
    if (!this.#boxes.has(place)) this.#boxes.set(place, new CommentBox(this.#host, { place: `${this.#url}:${place}:${page.me.id}`, ...options }));
    return this.#boxes.get(place);
  }

  /** The field for a new comment. */
  newComment() {
    return this.#box("new", { send: (text, action) => this.#add(text, null, action) }).template();
  }

  #answerBox(comment) {
    return this.#box(`answer:${comment.id}`, {
      label: "Answer", submit: "Answer", cancel: () => this.#answer(null),
      send: async (text, action) => {
        await this.#add(text, comment.id, action);
        this.#answering = "";
      },
    });
  }

  #editBox(comment) {
    let base = comment;
    return this.#box(`edit:${comment.id}`, {
      conflict: (present) => { base = present; },
      label: "Edit the comment", submit: "Save", text: comment.text, cancel: () => this.#closeEdit(comment),
      send: async (text) => {
        await this.#edit(base, text);
        this.#closeEdit(comment);
      },
    });
  }

  #answer(comment) {
    this.#answering = comment?.parent ?? comment?.id ?? "";
    this.#focus();
  }

  #startEditing(comment) {
    this.#editing = comment.id;
    this.#focus();
  }

  #focus() {
    this.#host.flush();
    this.#host.querySelector(".thread-box textarea")?.focus();
  }

  #closeEdit(comment) {
    this.#boxes.get(`edit:${comment.id}`)?.clear();
    this.#boxes.delete(`edit:${comment.id}`);
    this.#editing = "";
    this.#host.update();
  }

  // --- templates ----------------------------------------------------------------------------------

  thread({ comment, answers }) {
    const answering = this.#answering === comment.id;
    return html`<div class="t-row">${avatar(comment.author)}${this.#card(comment)}
      ${answers.length || answering ? html`<div class="sub-flow">${answers.map((each) => this.#card(each))}
        ${answering ? html`<div class="thread-box">${this.#answerBox(comment).template()}</div>` : nothing}</div>` : nothing}</div>`;
  }

  #card(comment) {
    if (this.#editing === comment.id) return html`<div class="thread-box">${this.#editBox(comment).template()}</div>`;
    const { author, text, created_at: written, edited_at: edited, deleted } = comment;
    return html`<article class="comment" id="comment-${comment.id}" aria-label="Comment of ${visible(author.name)}">
      <header class="comment-head"><b><bdi>${visible(author.name)}</bdi></b>${author.kind === "agent" ? html`<span class="badge">Agent</span>` : nothing}
        <time><paca-when at=${written}></paca-when></time>${edited ? html`<span class="muted small">edited</span>` : nothing}${deleted ? nothing : this.#buttons(comment)}</header>
      <div class="comment-body prose">${deleted ? html`<p class="muted">This comment was deleted.</p>` : this.#nodesOf(comment.id, text)}</div></article>`;
  }

  #buttons(comment) {
    const { me, mayComment } = this.#host.page;
    const mine = comment.author.id === me.id;
    return html`<span class="push">${mayComment ? iconButton("corner-down-left", "Answer", () => this.#answer(comment)) : nothing}
      ${mine ? html`${iconButton("pencil", "Edit", () => this.#startEditing(comment))}${iconButton("x", "Delete", () => this.#delete(comment))}` : nothing}</span>`;
  }

  /** The nodes of a comment, made once for each text. */
  #nodesOf(id, text) {
    const known = this.#markdown.get(id);
    if (known?.text === text) return known.nodes;
    const nodes = new GrowingMarkdown().update(text, true);
    setOffMentions(nodes, this.#host.page.members);
    this.#markdown.set(id, { text, nodes });
    return nodes;
  }

  /** The field for a new comment, or why there is none. */
  foot() {
    if (this.#host.page.mayComment) return this.newComment();
    return html`<p class="watching">${icon("eye")}You can read only. An owner of the project can give you permission to write.</p>`;
  }
}
