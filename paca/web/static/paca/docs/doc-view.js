// One doc: its text, the editor, its versions and comments.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { ask } from "../core/dialog.js";
import { icon } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";
import { Discussion } from "../talk/discussion.js";
import { threadsOf } from "../talk/threads.js";

const MAX_ATTEMPTS = 4;

/** What an edit is based on. */
function baseOf({ title, text, updated_at: updatedAt }) {
  return { title, text, updated_at: updatedAt };
}

export class DocView {
  doc = null;
  #host;
  #url;
  #draftKey;
  #editing = false;
  #conflict = null; // the doc as somebody else has saved it meanwhile
  #versions = null;
  #shown = new GrowingMarkdown();
  #order = new AnswerOrder();
  #busy = false;

  /** `host` is <paca-docs>; `id` is the doc's. */
  constructor(host, id) {
    this.#host = host;
    this.id = id;
    this.#url = `${host.page.urls.docs}${id}/`;
    this.#draftKey = `doc:${this.#url}:${host.page.me.id}`;
    this.#editing = Boolean(load(this.#draftKey, null));
    this.discussion = new Discussion(host, `${this.#url}comments/`);
  }

  /** Load the doc and its comments. Throws ApiError. */
  async load() {
    await Promise.all([this.#read(), this.discussion.load()]);
    if (this.#versions) await this.#loadVersions();
  }

  #read = () => this.#order.read(() => call("GET", this.#url), this.#take);

  #take = (doc) => {
    this.doc = doc;
  };

  edit() {
    this.#editing = true;
    this.#host.flush();
    this.#host.querySelector(".editor input")?.select();
  }

  get #draft() {
    const { title, text } = this.doc;
    return load(this.#draftKey, { title, text, base: baseOf(this.doc) });
  }

  #keep(change) {
    save(this.#draftKey, { ...this.#draft, ...change });
  }

  #close() {
    save(this.#draftKey, null);
    this.#editing = false;
    this.#conflict = null;
    this.#host.update();
  }

  async #save() {
    const draft = this.#draft;
    this.#keep(draft);
    const body = { title: draft.title.trim(), text: draft.text };
    this.#busy = true;
    this.#host.update();
    await this.#host.attempt(async () => {
      const stored = await this.#order.write(() => this.#store(body, this.#conflict ?? draft.base), (doc) => this.#take(doc ?? this.#conflict), this.#read);
      if (!stored) return;
      this.#saved(draft);
      await this.#host.load();
    });
    this.#busy = false;
    this.#host.update();
  }

  /** Store title and text; gives the doc, or null if others changed them since `base`. A move of the doc does not matter. */
  async #store(body, base) {
    let known = base.updated_at;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call("PATCH", this.#url, body, { ifMatch: known });
      } catch (error) {
        if (error.status !== 412 || attempt === MAX_ATTEMPTS) throw error;
      }
      const present = await call("GET", this.#url);
      if (present.title === body.title && present.text === body.text) return present; // an earlier attempt was stored, and its answer was lost
      if (present.title !== base.title || present.text !== base.text) {
        this.#conflict = present;
        return null;
      }
      known = present.updated_at;
    }
  }

  // Words that were typed while the text was stored are not stored yet.
  #saved(sent) {
    const later = this.#draft;
    if (later.title === sent.title && later.text === sent.text) {
      this.#close();
      return;
    }
    this.#conflict = null;
    save(this.#draftKey, { ...later, base: baseOf(this.doc) });
  }

  async #loadVersions() {
    this.#versions = (await call("GET", `${this.#url}versions/`)).results;
  }

  async #showVersions() {
    if (this.#versions) this.#versions = null;
    else await this.#host.attempt(() => this.#loadVersions());
    this.#host.update();
  }

  async #restore({ number }) {
    const sure = await ask({ title: `Restore version ${number}?`, text: "It becomes a new version; none is lost.", yes: "Restore", danger: false });
    if (!sure) return;
    await this.#host.attempt(async () => {
      await this.#order.write(() => call("POST", `${this.#url}versions/${number}/restore/`, {}), this.#take, this.#read);
      await this.load();
    });
  }

  async #delete() {
    const sure = await ask({ title: `Delete ${this.doc.title}?`, text: "It leaves the list for everybody.", yes: "Delete" });
    if (sure) await this.#host.attempt(async () => { await call("DELETE", this.#url); await this.#host.closed(); });
  }

  async #move(folder) {
    await this.#host.attempt(async () => {
      await this.#order.write(() => call("PATCH", this.#url, { folder: folder || null }), this.#take, this.#read);
      await this.#host.load();
    });
  }

  template() {
    if (!this.doc) return nothing;
    return html`<article class="doc-in">${this.#editing ? this.#editor() : this.#text()}
      <div class="section-h"><h2>Comments</h2></div><div class="timeline">${threadsOf(this.discussion.comments).map((thread) => this.discussion.thread(thread))}</div>${this.discussion.foot()}</article>`;
  }

  #text() {
    const { title, text, version, updated_by: by, updated_at: at } = this.doc;
    const { mayWrite } = this.#host.page;
    return html`<h1 class="task-title"><bdi>${visible(title)}</bdi></h1>
      <p class="small muted">Version ${version}, by <bdi>${visible(by.name)}</bdi>, <paca-when at=${at}></paca-when></p>
      ${text.trim() ? html`<div class="prose">${this.#shown.update(text, true)}</div>` : html`<p class="muted task-none">Nothing is written here yet.</p>`}
      <div class="task-acts">${mayWrite ? html`<button type="button" class="btn btn-quiet btn-s" @click=${() => this.edit()}>${icon("pencil")}Edit</button>` : nothing}
        <button type="button" class="btn btn-quiet btn-s" aria-expanded=${this.#versions ? "true" : "false"} @click=${() => this.#showVersions()}>${icon("history")}Versions</button>
        ${mayWrite ? html`${this.#folderChoice()}<button type="button" class="btn btn-quiet btn-s" @click=${() => this.#delete()}>${icon("x")}Delete</button>` : nothing}</div>
      ${this.#versions ? this.#versionList() : nothing}`;
  }

  #folderChoice() {
    const { folders } = this.#host;
    if (!folders.length) return nothing;
    return html`<span class="select-wrap"><select class="select input-s" aria-label="Folder" @change=${({ target }) => this.#move(target.value)}><option value="">No folder</option>
      ${folders.map(({ id, name }) => html`<option value=${id} ?selected=${id === this.doc.folder}>${visible(name)}</option>`)}</select>${icon("chevron-down", "icon-s")}</span>`;
  }

  #versionList() {
    return html`<ul class="rowlist card">${this.#versions.map((version) => html`<li class="set-row"><div><b>Version ${version.number}</b><small><bdi>${visible(version.by.name)}</bdi>, <paca-when at=${version.created_at}></paca-when></small></div>
      ${version.number !== this.doc.version && this.#host.page.mayWrite ? html`<button type="button" class="btn btn-s" @click=${() => this.#restore(version)}>Restore</button>` : nothing}</li>`)}</ul>`;
  }

  #editor() {
    const { title, text } = this.#draft;
    const conflict = this.#conflict;
    return html`<form class="editor" @submit=${(event) => { event.preventDefault(); this.#save(); }} @keydown=${(event) => {
        if (event.key === "s" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#save(); }
        if (event.key === "Escape" && !load(this.#draftKey, null)) { event.preventDefault(); event.stopPropagation(); this.#close(); }
      }}><input class="input" name="title" aria-label="Title" maxlength="200" .value=${title} @input=${({ target }) => this.#keep({ title: target.value })}>
      <textarea class="textarea doc-text" aria-label="Text" dir="auto" .value=${text} @input=${({ target }) => this.#keep({ text: target.value })}></textarea>
      ${conflict ? html`<div class="notice notice-wait">${icon("circle-alert")}<div><b><bdi>${visible(conflict.updated_by.name)}</bdi> changed this doc meanwhile.</b> Your version is kept above. Compare, then save again.</div></div>
        <div class="conflict"><div><h3>Your version</h3><div class="prose">${new GrowingMarkdown().update(text, true)}</div></div><div><h3>The present version</h3><div class="prose">${new GrowingMarkdown().update(conflict.text, true)}</div></div></div>` : nothing}
      <div class="row"><button class="btn btn-primary btn-s" ?disabled=${this.#busy}>${this.#busy ? "Saving…" : conflict ? "Save my version" : "Save"}</button>
        <button type="button" class="btn btn-quiet btn-s" @click=${() => this.#close()}>${conflict ? "Take the present version" : "Cancel"}</button></div></form>`;
  }
}
