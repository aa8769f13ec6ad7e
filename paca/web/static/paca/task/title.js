// The title of a task: shown as a heading, edited in place; what is typed outlasts a reload and a conflict.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { icon, iconButton } from "../core/icons.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";

const MAX_CHARACTERS = 200;

export class Title {
  #host;
  #draftKey;
  #draft; // {text, before, since}: what is typed, and the title and updated_at that it is based on; or null
  #conflict = null; // {before, since}: the title as somebody else has written it meanwhile
  #busy = false;

  constructor(host) {
    this.#host = host;
    this.#draftKey = `title:${host.page.urls.one}:${host.page.me.id}`;
    this.#draft = load(this.#draftKey, null);
  }

  #present() {
    const { title: before, updated_at: since } = this.#host.data.task;
    return { before, since };
  }

  #edit() {
    const present = this.#present();
    this.#draft = { ...present, text: present.before };
    this.#host.flush();
    this.#host.querySelector("input[name=title]").select();
  }

  #typed(text) {
    this.#draft = { ...this.#draft, text };
    save(this.#draftKey, this.#draft);
  }

  #close() {
    this.#draft = null;
    this.#conflict = null;
    save(this.#draftKey, null);
    this.#host.update();
  }

  async #save() {
    const title = this.#draft.text.trim();
    if (this.#busy || !title) return;
    this.#busy = true;
    this.#host.update();
    await this.#host.attempt(async () => {
      if (await this.#host.data.changeText("title", title, this.#conflict ?? this.#draft)) this.#saved(title);
      else this.#conflict = this.#present();
    });
    this.#busy = false;
    this.#host.update();
  }

  #saved(title) {
    document.title = `${this.#host.page.key} ${title} · Paca`;
    if (this.#draft.text.trim() === title) this.#close();
    else {
      this.#draft = { ...this.#draft, ...this.#present() }; // more was typed meanwhile
      this.#conflict = null;
    }
  }

  template() {
    if (!this.#draft || !this.#host.page.mayWrite) return this.#heading();
    const conflict = this.#conflict;
    return html`<form class="col" @submit=${(event) => { event.preventDefault(); this.#save(); }}><div class="row row-wrap">
      <input class="input grow" name="title" maxlength=${MAX_CHARACTERS} aria-label="Title" .value=${live(this.#draft.text)} @input=${({ target }) => this.#typed(target.value)} @keydown=${(event) => {
        if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); this.#close(); }
      }}><button class="btn btn-primary" ?disabled=${this.#busy}>${this.#busy ? "Saving…" : conflict ? "Save my version" : "Save"}</button>
      <button type="button" class="btn btn-quiet" @click=${() => this.#close()}>${conflict ? "Take the present version" : "Cancel"}</button></div>
      ${conflict ? html`<div class="notice notice-wait">${icon("circle-alert")}<div><b>The title was changed meanwhile.</b> It is now “<bdi>${visible(conflict.before)}</bdi>”. Your version is kept above.</div></div>` : nothing}</form>`;
  }

  #heading() {
    return html`<h1 class="task-title"><bdi>${visible(this.#host.data.task.title)}</bdi>${this.#host.page.mayWrite ? html` ${iconButton("pencil", "Rename", () => this.#edit(), "btn-s")}` : nothing}</h1>`;
  }
}
