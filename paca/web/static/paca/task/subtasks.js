// The subtasks of a task: a live list with their states and people, and a field to add one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { statusIcon } from "../board/task-card.js";
import { call } from "../core/api.js";
import { avatar } from "../core/icons.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";
import { everyPage } from "../talk/discussion.js";

const MAX_TITLE_CHARACTERS = 200;

export class Subtasks {
  tasks = [];
  #host;
  #key;
  #title;
  #saving = false;
  #loading = null;
  #isOld = false;

  constructor(host) {
    const { urls, number, me } = host.page;
    this.#host = host;
    this.#key = `new-subtask:${urls.tasks}:${number}:${me.id}`;
    this.#title = load(this.#key, "");
  }

  /** Load the list. Changes during a load make one more load after it, however many they are. Throws ApiError. */
  load() {
    this.#isOld = true;
    this.#loading ??= this.#loadWhileOld();
    return this.#loading;
  }

  async #loadWhileOld() {
    const { urls, number } = this.#host.page;
    try {
      while (this.#isOld) {
        this.#isOld = false;
        this.tasks = await everyPage(`${urls.tasks}?parent=${number}&ordering=number`);
      }
    } finally {
      this.#loading = null;
    }
  }

  async #add() {
    const title = this.#title.replace(/\s+/g, " ").trim();
    if (!title || this.#saving) return;
    this.#saving = true;
    this.#host.update();
    await this.#host.attempt(async () => {
      const { intents, page, announcer } = this.#host;
      const body = { title, parent: page.number };
      const made = await intents.run(`subtask ${title}`, (key) => call("POST", page.urls.tasks, body, { idempotencyKey: key }));
      this.#keep("");
      announcer.say(`${made.key} added`);
      await this.load();
    }, () => this.#add());
    this.#saving = false;
    this.#host.flush();
    this.#host.querySelector("[data-new-subtask]")?.focus();
  }

  #keep(title) {
    this.#title = title;
    save(this.#key, title || null);
  }

  #row({ number, key, title, status, assignees }) {
    return html`<li class="subtask">${statusIcon(status)}<span class="sr">${visible(status.name)}</span>
      <a class="link clip" href=${this.#host.page.urls.task.replace("TASK", number)}><span class="num muted">${key}</span> <bdi>${visible(title)}</bdi></a>
      <span class="push row">${assignees.map((member) => avatar(member, "avatar-s"))}</span></li>`;
  }

  template() {
    const { mayWrite } = this.#host.page;
    if (!this.tasks.length && !mayWrite) return nothing;
    const done = this.tasks.filter(({ status }) => status.category === "done").length;
    return html`<section class="subtasks" aria-label="Subtasks">
      ${this.tasks.length ? html`<div class="section-h"><h2>Subtasks</h2><span class="n num">${done} of ${this.tasks.length} done</span></div>
        <ul class="rowlist">${repeat(this.tasks, ({ id }) => id, (task) => this.#row(task))}</ul>` : nothing}
      ${mayWrite ? html`<form class="subtask-new" @submit=${(event) => { event.preventDefault(); this.#add(); }}><input class="input input-s" data-new-subtask maxlength=${MAX_TITLE_CHARACTERS}
        aria-label="New subtask" placeholder="Add a subtask" enterkeyhint="done" autocomplete="off" ?readonly=${this.#saving} .value=${live(this.#title)} @input=${({ target }) => this.#keep(target.value)}></form>` : nothing}</section>`;
  }
}
