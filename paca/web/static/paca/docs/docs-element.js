// <paca-docs>: the docs of a project: a tree of folders at the left, one doc with its comments at the right.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { ApiElement } from "../core/api-element.js";
import { ask } from "../core/dialog.js";
import { jsonAttribute } from "../core/element.js";
import { icon } from "../core/icons.js";
import { ProjectSocket } from "../core/project-socket.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";
import { everyPage, showAddressed } from "../talk/discussion.js";
import { DocView } from "./doc-view.js";
import { pathOf, treeRows } from "./doc-tree.js";

export class PacaDocs extends ApiElement {
  doc = null; // the DocView of the open doc
  #folders = [];
  #docs = [];
  #order = new AnswerOrder();
  #opened;
  #socket;

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.#opened = new Set(load(`folders:${this.page.urls.docs}`, []));
    this.#socket = new ProjectSocket(this.page.urls.socket, {
      onChanges: (changes) => this.#changed(changes),
      load: () => this.load(),
    });
    this.#socket.open();
    addEventListener("popstate", this.#navigated);
  }

  disconnectedCallback() {
    this.#socket.close();
    removeEventListener("popstate", this.#navigated);
  }

  async load() {
    await this.attemptLoad(async () => {
      await this.#readLists();
      if (!this.loaded) await this.#begin();
      else await this.doc?.load();
      showAddressed(this);
    }, () => this.load());
  }

  #readLists = () => {
    const { folders, docs } = this.page.urls;
    return this.#order.read(() => Promise.all([everyPage(folders), everyPage(`${docs}?text=false`)]), (lists) => { [this.#folders, this.#docs] = lists; });
  };

  async #begin() {
    this.loaded = true;
    await this.#show(this.page.doc);
  }

  async #show(id) {
    this.doc = id ? new DocView(this, id) : null;
    await this.doc?.load();
    for (const folder of pathOf(this.#folders, this.doc?.doc)) this.#opened.add(folder);
    if (this.doc?.doc) document.title = `${this.doc.doc.title} · Paca`;
  }

  #open(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    history.pushState(null, "", event.currentTarget.href);
    this.attempt(() => this.#show(id));
  }

  #navigated = () => {
    const id = location.pathname.split("/docs/")[1]?.replace("/", "");
    this.attempt(() => this.#show(id));
  };

  #toggle(id) {
    if (!this.#opened.delete(id)) this.#opened.add(id);
    save(`folders:${this.page.urls.docs}`, [...this.#opened]);
    this.update();
  }

  async #changed(changes) {
    const nouns = new Set(changes.map(({ noun }) => noun));
    if (nouns.has("doc") || nouns.has("folder")) await this.load();
    else if (nouns.has("comment") && this.doc) await this.attemptLoad(() => this.doc.discussion.load());
  }

  async newDoc(folder = null) {
    if (!this.loaded) await this.load(); // the button comes with the page, before the docs do
    if (!this.loaded) return;
    await this.attempt(async () => {
      const make = (key) => call("POST", this.page.urls.docs, { title: "Untitled", text: "", folder }, { idempotencyKey: key });
      const made = await this.#order.write(() => this.intents.run(`doc in ${folder}`, make), (doc) => { this.#docs = withOne(this.#docs, doc); }, this.#readLists);
      history.pushState(null, "", this.page.urls.doc.replace("DOC", made.id));
      await this.#show(made.id);
      this.doc.edit();
    });
  }

  async #newFolder() {
    const name = this.querySelector("input[name=folder]").value.trim();
    if (!name) return;
    await this.attempt(async () => {
      const make = (key) => call("POST", this.page.urls.folders, { name, parent: null }, { idempotencyKey: key });
      await this.#order.write(() => this.intents.run(`folder ${name}`, make), (folder) => { this.#folders = withOne(this.#folders, folder); }, this.#readLists);
      this.querySelector("input[name=folder]").value = "";
    });
  }

  async #removeFolder({ id, name }) {
    const sure = await ask({ title: `Delete the folder ${name}?`, text: "The docs in it stay, and move one folder up.", yes: "Delete" });
    if (sure) await this.attempt(async () => { await call("DELETE", `${this.page.urls.folders}${id}/`); await this.load(); });
  }

  get folders() {
    return this.#folders;
  }

  template() {
    if (!this.loaded) return this.noticeTemplate();
    return html`<div class="docs ${this.doc ? "has-doc" : ""}">${this.#tree()}<div class="doc-main">${this.noticeTemplate("board-notice")}
      ${this.doc ? this.doc.template() : this.#none()}</div></div>`;
  }

  #tree() {
    const rows = treeRows(this.#folders, this.#docs, this.#opened);
    return html`<nav class="doc-tree" aria-label="Docs"><div class="nav">${repeat(rows, ({ item }) => item.id, (row) => (row.kind === "folder" ? this.#folder(row) : this.#link(row)))}</div>
      ${this.page.mayWrite ? html`<form class="row doc-new" @submit=${(event) => { event.preventDefault(); this.#newFolder(); }}>
        <input class="input input-s" name="folder" aria-label="New folder" placeholder="New folder" maxlength="100"><button class="btn btn-icon btn-quiet btn-s" aria-label="Add the folder" title="Add the folder">${icon("plus")}</button></form>` : nothing}</nav>`;
  }

  #folder({ item, depth, open }) {
    return html`<div class="doc-row" data-depth=${Math.min(depth, 5)}><button type="button" class="doc-folder" aria-expanded=${open ? "true" : "false"} @click=${() => this.#toggle(item.id)}>${icon("chevron-right", open ? "is-open" : "")}<span class="label"><bdi>${visible(item.name)}</bdi></span></button>
      ${this.page.mayWrite ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="New doc in ${visible(item.name)}" title="New doc here" @click=${() => this.newDoc(item.id)}>${icon("plus")}</button>
      <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Delete the folder ${visible(item.name)}" title="Delete the folder" @click=${() => this.#removeFolder(item)}>${icon("x")}</button>` : nothing}</div>`;
  }

  #link({ item, depth }) {
    return html`<a class="doc-row" data-depth=${Math.min(depth, 5)} href=${this.page.urls.doc.replace("DOC", item.id)} data-row aria-current=${this.doc?.id === item.id ? "page" : nothing}
      @click=${(event) => this.#open(event, item.id)}>${icon("file-text")}<span class="label"><bdi>${visible(item.title)}</bdi></span></a>`;
  }

  #none() {
    if (this.#docs.length) return html`<div class="card empty doc-empty"><h2>Choose a doc</h2><p>Or search everything with Ctrl K.</p></div>`;
    return html`<div class="card empty doc-empty"><h2>No docs yet</h2><p>Docs hold what the project knows: decisions, how-tos, agreements. Agents read them before they work.</p>
      ${this.page.mayWrite ? html`<div class="row"><button type="button" class="btn btn-primary" @click=${() => this.newDoc()}>${icon("plus")}New doc</button></div>` : nothing}</div>`;
  }

  /** Close the open doc after it was deleted. */
  closed() {
    history.pushState(null, "", this.page.urls.page);
    this.doc = null;
    return this.load();
  }
}

const withOne = (list, made) => [...list.filter(({ id }) => id !== made.id), made];

customElements.define("paca-docs", PacaDocs);
