// The description of a task: shown as Markdown, edited in place, suggested by an agent; conflicts show both texts.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";
import { LiveWriting } from "./live-writing.js";

const FIRST_SERVER_ERROR = 500;

export class Description {
  editing = false;
  #host;
  #data;
  #draftKey;
  #base = null; // {before, since}: the description and updated_at of the task that the draft is based on
  #conflict = null; // the task as somebody else has changed it meanwhile
  #kept = null; // {before, text}: the description before a suggestion was kept, and the suggestion, for Undo
  #shown = new GrowingMarkdown();
  #suggested = new GrowingMarkdown();
  #choosing = false;
  #busy = false;
  #unanswered = null; // {text, base}: a save that had no answer
  #writing = null; // {agent, live, problem}: an agent that writes the description now

  constructor(host) {
    this.#host = host;
    this.#data = host.data;
    this.#draftKey = `description:${host.page.urls.one}:${host.page.me.id}`;
    const draft = load(this.#draftKey, null);
    if (draft) {
      this.editing = true;
      this.#base = typeof draft.base === "string" ? { before: null, since: draft.base } : draft.base;
    }
  }

  get #draft() {
    return load(this.#draftKey, null)?.text ?? this.#data.task.description;
  }

  edit() {
    this.editing = true;
    this.#base = this.#present();
    this.#host.flush();
    this.#host.querySelector(".editor textarea")?.focus();
  }

  #present() {
    const { description: before, updated_at: since } = this.#data.task;
    return { before, since };
  }

  // Words that are not saved stay in the open field.
  #leave(field) {
    if (load(this.#draftKey, null)) field.blur();
    else this.#close();
  }

  #close() {
    save(this.#draftKey, null);
    this.editing = false;
    this.#conflict = null;
    this.#unanswered = null;
    this.#host.update();
  }

  async #save(text, base) {
    this.#busy = true;
    this.#unanswered = null;
    this.#host.update();
    try {
      if (await this.#data.changeText("description", text, base)) this.#saved(text);
      else this.#conflict = this.#present();
    } catch (error) {
      this.#host.show(error);
      if (!error.status || error.status >= FIRST_SERVER_ERROR) this.#unanswered = { text, base };
    }
    this.#busy = false;
    this.#host.update();
  }

  /** Save again what a lost or restarting server has not confirmed; the page calls it when the server is back. */
  async saveAgain() {
    if (this.#unanswered && !this.#busy) await this.#save(this.#unanswered.text, this.#unanswered.base);
  }

  // Words that were typed while the text was stored are not stored yet.
  #saved(text) {
    this.#host.notice = null;
    const later = load(this.#draftKey, null);
    if (!later || later.text === text) {
      this.#close();
      return;
    }
    this.#base = this.#present();
    this.#conflict = null;
    save(this.#draftKey, { text: later.text, base: this.#base });
  }

  template() {
    if (this.editing) return this.#editor();
    const { task } = this.#data;
    const { mayWrite } = this.#host.page;
    return html`${task.description.trim() ? html`<div class="prose">${this.#shown.update(task.description, true)}</div>`
      : html`<p class="muted task-none">No description yet.</p>`}
      ${this.#suggestion()}
      ${mayWrite ? html`<div class="task-acts"><button type="button" class="btn btn-quiet btn-s" @click=${() => this.edit()}>${icon("pencil")}Edit</button>
        ${this.#writeWithAi()}
        ${this.#kept?.text !== task.description ? nothing : html`<button type="button" class="btn btn-quiet btn-s" @click=${() => this.#undo()}>${icon("rotate-ccw")}Undo the suggestion</button>`}</div>` : nothing}`;
  }

  #editor() {
    const conflict = this.#conflict;
    return html`<div class="editor"><label class="sr" for="description">Description</label>
      <textarea class="textarea" id="description" dir="auto" .value=${this.#draft} @input=${({ target }) => save(this.#draftKey, { text: target.value, base: this.#base })}
        @keydown=${(event) => {
          if (event.key === "s" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#save(event.target.value, this.#conflict ?? this.#base); }
          if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); this.#leave(event.target); }
        }}></textarea>
      ${conflict ? html`<div class="notice notice-wait">${icon("circle-alert")}<div><b>This task was changed meanwhile.</b> Your version is kept above. Compare it with the present one, then save again.</div></div>
        <div class="conflict"><div><h3>Your version</h3><div class="prose">${new GrowingMarkdown().update(this.#draft, true)}</div></div>
          <div><h3>The present version</h3><div class="prose">${new GrowingMarkdown().update(conflict.before, true)}</div></div></div>` : nothing}
      <div class="row"><button type="button" class="btn btn-primary btn-s" ?disabled=${this.#busy}
          @click=${() => this.#save(this.#draft, conflict ?? this.#base)}>${this.#busy ? "Saving…" : conflict ? "Save my version" : "Save"}</button>
        ${conflict ? html`<button type="button" class="btn btn-s" @click=${() => this.#close()}>Take the present version</button>` : html`<button type="button" class="btn btn-quiet btn-s" @click=${() => this.#close()}>Cancel</button>`}</div></div>`;
  }

  // --- write with AI ------------------------------------------------------------------------------

  #writeWithAi() {
    const { page } = this.#host;
    const agents = page.members.filter(({ kind }) => kind === "agent");
    if (!page.mayChat || !agents.length || this.#data.suggestion || this.#writing) return nothing;
    if (!this.#choosing) return html`<button type="button" class="btn btn-quiet btn-s" @click=${() => this.#choose(true)}>${icon("sparkles")}Write with AI</button>`;
    return html`<form class="row row-wrap" data-write @submit=${(event) => { event.preventDefault(); this.#write(event.target); }} @keydown=${(event) => {
        if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); this.#choose(false); }
      }}>
      <span class="select-wrap"><select class="select input-s" name="agent" aria-label="Agent">${agents.map(({ agent_id: id, name }) => html`<option value=${id}>${visible(name)}</option>`)}</select>${icon("chevron-down", "icon-s")}</span>
      <input class="input input-s" name="instruction" aria-label="Instruction" placeholder="What should it say? (optional)">
      <button class="btn btn-primary btn-s" ?disabled=${this.#busy}>Write</button>
      <button type="button" class="btn btn-quiet btn-s" @click=${() => this.#choose(false)}>Cancel</button></form>`;
  }

  #choose(on) {
    this.#choosing = on;
    this.#host.flush();
    if (on) this.#host.querySelector("[data-write] select").focus();
  }

  async #write(form) {
    this.#busy = true;
    this.#host.update();
    try {
      const { id, agent } = await this.#data.writeWithAi(form.elements.agent.value, form.elements.instruction.value.trim());
      this.#choosing = false;
      this.#follow(id, agent.name);
      await this.#data.loadRuns();
    } catch (error) {
      this.#host.show(error);
    }
    this.#busy = false;
    this.#host.update();
  }

  /** Show what a conversation writes; `agent` is the name of its agent. */
  #follow(conversation, agent) {
    this.#writing = {
      agent, problem: "",
      live: new LiveWriting(conversation, {
        onText: () => this.#host.update(),
        onEnd: async (problem) => {
          this.#writing.problem = problem;
          await this.#host.attemptLoad(async () => { await this.#data.loadRuns(); await this.#data.loadSuggestion(); });
          if (this.#data.suggestion || !problem) this.#writing = null;
          this.#host.update();
        },
      }),
    };
  }

  /** Follow an agent that writes already, for example after a reload. */
  resume() {
    const run = this.#data.runs.find((each) => each.trigger_type === "description_write" && ["queued", "running", "waiting"].includes(each.status));
    if (run && !this.#writing) this.#follow(run.id, run.agent.name);
  }

  close() {
    this.#writing?.live.close();
  }

  /** The suggestion below the text, never over it: it grows while the agent writes, then people keep or discard it. */
  #suggestion() {
    if (this.#writing) return this.#growing(this.#writing);
    const { suggestion } = this.#data;
    if (!suggestion) return nothing;
    return html`<section class="suggestion" aria-label="Suggestion of ${visible(suggestion.agent.name)}">
      <div class="prose">${this.#suggested.update(suggestion.text, true)}</div>
      <div class="suggestion-foot"><span>Suggested by <bdi>${visible(suggestion.agent.name)}</bdi></span><span class="push"></span>
        <button type="button" class="btn btn-primary btn-s" @click=${() => this.#keep()}>Keep</button>
        <button type="button" class="btn btn-s" @click=${() => this.#discard()}>Discard</button></div></section>`;
  }

  #growing({ agent, live, problem }) {
    return html`<section class="suggestion" aria-label="Suggestion of ${visible(agent)}" aria-busy=${problem ? "false" : "true"}>
      <div class="prose">${live.text ? this.#suggested.update(live.text, false) : html`<p class="muted"><bdi>${visible(agent)}</bdi> reads and writes…</p>`}</div>
      <div class="suggestion-foot"><span>${problem || html`<bdi>${visible(agent)}</bdi> is writing`}</span><span class="push"></span>
        <a class="btn btn-s" href=${this.#host.conversationUrl(live.conversation)}>Watch${icon("arrow-right")}</a></div></section>`;
  }

  async #keep() {
    const kept = { before: this.#data.task.description, text: this.#data.suggestion.text };
    try {
      await this.#data.keepSuggestion();
      this.#kept = kept;
    } catch (error) {
      await this.#refused(error);
    }
    this.#host.update();
  }

  async #refused(error) {
    if (error.status === 412) await this.#host.attempt(() => Promise.all([this.#data.loadTask(), this.#data.loadSuggestion()]));
    this.#host.show(error);
  }

  async #discard() {
    try {
      await this.#data.discardSuggestion();
    } catch (error) {
      await this.#refused(error);
    }
    this.#host.update();
  }

  // One step back: the text as it was before the suggestion, unless somebody has changed it since.
  async #undo() {
    try {
      const { before, text } = this.#kept;
      await this.#data.changeText("description", before, { before: text, since: this.#data.task.updated_at });
      this.#kept = null;
    } catch (error) {
      this.#host.show(error);
    }
    this.#host.update();
  }
}
