// The tasks as a list: a table with selection, changes of many tasks at once, and more rows on demand.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { avatar, icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { liveStrip, priorityIcon, statusIcon } from "./task-card.js";
import { noTasks } from "./column.js";

export class TaskList {
  #board;
  #tasks = null;
  #next = null;
  #order = new AnswerOrder();
  #selected = new Set();
  #saving = false;

  constructor(board) {
    this.#board = board;
  }

  /** Load the first tasks that the filters show. Throws ApiError. */
  async load() {
    const { urls } = this.#board.page;
    const query = new URLSearchParams([...this.#board.filters]);
    await this.#order.read(() => call("GET", `${urls.tasks}?${query}`), ({ results, next }) => {
      this.#tasks = results;
      this.#next = next;
      const there = new Set(results.map(({ number }) => number));
      this.#selected = new Set([...this.#selected].filter((number) => there.has(number)));
    });
  }

  async #more() {
    try {
      const address = this.#next;
      const { results, next } = await call("GET", address);
      if (address !== this.#next) return; // the list was loaded again meanwhile
      this.#tasks = [...this.#tasks, ...results.filter(({ number }) => !this.#tasks.some((task) => task.number === number))];
      this.#next = next;
      this.#board.update();
    } catch (error) {
      this.#board.show(error, () => this.#more());
    }
  }

  #select(number, on) {
    if (on) this.#selected.add(number);
    else this.#selected.delete(number);
    this.#board.update();
  }

  async #change(fields) {
    this.#saving = true;
    this.#board.update();
    try {
      await call("PATCH", this.#board.page.urls.bulk, { numbers: [...this.#selected], changes: fields });
      this.#board.announcer.alert(`${this.#selected.size} tasks changed`);
      this.#selected.clear();
      await this.load();
      this.#board.notice = null;
    } catch (error) {
      this.#board.show(error);
    }
    this.#saving = false;
    this.#board.update();
  }

  template() {
    if (!this.#tasks) return nothing;
    if (!this.#tasks.length) return noTasks(this.#board);
    return html`<div class="page"><div class="page-in">${this.#bulkBar()}
      <div class="card"><div class="table-wrap" tabindex="0" role="region" aria-label="Tasks"><table class="table task-table">
        <thead><tr>${this.#board.page.mayWrite ? html`<th><span class="sr">Select</span></th>` : nothing}<th>Task</th><th>Status</th><th class="opt">Assignees</th><th class="opt">Labels</th><th class="r opt">Due</th></tr></thead>
        <tbody>${repeat(this.#tasks, ({ number }) => number, (task) => this.#row(task))}</tbody></table></div></div>
      ${this.#next ? html`<button type="button" class="btn more-tasks" @click=${() => this.#more()}>Show more tasks</button>` : nothing}</div></div>`;
  }

  #row(task) {
    const { urls, mayWrite } = this.#board.page;
    return html`<tr>${mayWrite ? html`<td><input type="checkbox" aria-label="Select ${task.key}" .checked=${this.#selected.has(task.number)}
        @change=${({ target }) => this.#select(task.number, target.checked)}></td>` : nothing}
      <td><a class="cell" href=${urls.task.replace("TASK", task.number)} data-row>${priorityIcon(task.priority)}<span class="num muted">${task.key}</span><b><bdi>${visible(task.title)}</bdi></b></a>
        ${task.agent_state ? html`<div class="row-live">${liveStrip(task.agent_state)}</div>` : nothing}</td>
      <td><span class="row">${statusIcon(task.status)}<bdi>${visible(task.status.name)}</bdi></span></td>
      <td class="opt"><span class="avatar-stack">${task.assignees.map((member) => avatar(member, "avatar-s"))}</span></td>
      <td class="opt">${task.labels.map((name) => html`<span class="badge badge-line">${visible(name)}</span> `)}</td>
      <td class="r opt num">${task.due_date ?? ""}</td></tr>`;
  }

  #bulkBar() {
    const count = this.#selected.size;
    if (!count) return nothing;
    const { statuses, members, sprints } = this.#board.page;
    return html`<div class="bulk-bar" role="group" aria-label="Change the selected tasks"><b>${count === 1 ? "1 task" : `${count} tasks`}</b>
      ${this.#choice("Set status", statuses, (id) => ({ status_id: id }))}
      ${this.#choice("Assign to", members, (id) => ({ add_assignee_ids: [id] }))}
      ${sprints.length ? this.#choice("Move to sprint", sprints, (id) => ({ sprint_id: id })) : nothing}
      ${this.#choice("Set priority", ["none", "low", "medium", "high", "urgent"].map((name) => ({ id: name, name })), (id) => ({ priority: id }))}
      <button type="button" class="btn btn-quiet btn-s" @click=${() => { this.#selected.clear(); this.#board.update(); }}>${icon("x")}Clear</button></div>`;
  }

  #choice(label, options, fields) {
    return html`<span class="select-wrap"><select class="select input-s" aria-label=${label} ?disabled=${this.#saving} @change=${({ target }) => {
      const value = target.value;
      target.value = "";
      if (value) this.#change(fields(value));
    }}><option value="">${label}</option>${options.map(({ id, name }) => html`<option value=${id}>${visible(name)}</option>`)}</select>${icon("chevron-down", "icon-s")}</span>`;
  }
}
