// <paca-task>: the page of one task, live: title, description, timeline, comments and properties.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { noteDeleted } from "../board/deleted-task.js";
import { ApiElement } from "../core/api-element.js";
import { ask } from "../core/dialog.js";
import { jsonAttribute } from "../core/element.js";
import { ProjectSocket } from "../core/project-socket.js";
import { Discussion, showAddressed } from "../talk/discussion.js";
import { threadsOf } from "../talk/threads.js";
import { attachments } from "./attachments.js";
import { Description } from "./description.js";
import { properties } from "./properties.js";
import { rowOf } from "./rows.js";
import { Subtasks } from "./subtasks.js";
import { TaskData } from "./task-data.js";
import { TaskPicker } from "./task-picker.js";
import { timelineRows } from "./timeline.js";
import { Title } from "./title.js";

const VIEWS = [["all", "All"], ["comments", "Comments"], ["runs", "Runs"]];

export class PacaTask extends ApiElement {
  shown = "all";
  #socket;

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.data = new TaskData(this.page, this.intents);
    this.discussion = new Discussion(this, this.page.urls.comments);
    this.description = new Description(this);
    this.titleField = new Title(this);
    this.subtasks = new Subtasks(this);
    this.parentPicker = new TaskPicker(this, { field: "parent", label: "Set the parent", take: ({ number }) => this.data.change({ parent: number }) });
    this.blockerPicker = new TaskPicker(this, {
      field: "blocked_by", label: "Add a task that blocks this one",
      take: ({ number }) => this.data.changeList(({ blocked_by: present }) => ({ blocked_by: [...new Set([...present, number])] })),
    });
    this.#socket = new ProjectSocket(this.page.urls.socket, {
      onChanges: (changes) => this.#changed(changes),
      load: () => this.#cameBack(),
    });
    this.#socket.open();
  }

  disconnectedCallback() {
    this.description.close();
    this.#socket.close();
  }

  async load() {
    await this.attemptLoad(async () => {
      await Promise.all([this.data.load(), this.discussion.load(), this.subtasks.load()]);
      await this.data.loadSuggestion();
      this.loaded = true;
      this.description.resume();
      showAddressed(this);
    }, () => this.load());
  }

  /** Change fields of the task as it is now. */
  change(fields) {
    return this.attempt(() => this.data.change(fields, undefined), () => this.change(fields));
  }

  /** Change lists from what they are now: `changed(task)` gives their fields. */
  changeList(changed) {
    return this.attempt(() => this.data.changeList(changed), () => this.changeList(changed));
  }

  /** Assign a member; an agent starts at once, which the page says. */
  async assign(member) {
    const stored = await this.changeList(({ assignees }) => ({ assignee_ids: [...assignees.map(({ id }) => id).filter((id) => id !== member.id), member.id] }));
    if (stored && member.kind === "agent") this.announcer.say(`${member.name} starts at once`);
    if (stored) await this.attempt(() => this.data.loadRuns());
  }

  /** Delete the task after a question, and go back to the board, which can restore it. */
  async remove() {
    const { task } = this.data;
    const sure = await ask({
      title: `Delete ${task.key}?`, yes: "Delete",
      text: `It leaves the board for everybody. The key ${task.key} is never used again. The board offers to restore the task with all that it has.`,
    });
    if (!sure || !(await this.attempt(() => this.data.remove(), () => this.remove()))) return;
    noteDeleted(this.page, task);
    location.assign(this.page.urls.board);
  }

  conversationUrl(id) {
    return this.page.urls.conversation.replace("CONVERSATION", id);
  }

  /** Let the agent begin work that waits for a start. */
  async start(run) {
    await this.attempt(async () => {
      await this.data.start(run.id);
      await this.data.loadRuns();
    });
  }

  async stop(run) {
    await this.attempt(async () => {
      await this.data.stop(run.id);
      await this.data.loadRuns();
    });
  }

  async #cameBack() {
    await this.load();
    await this.description.saveAgain();
  }

  async #changed(changes) {
    const { number } = this.page;
    const tasks = changes.some(({ noun }) => noun === "task"); // any of them may be a subtask now
    const mine = changes.some(({ noun, id }) => noun === "task" && Number(id) === number);
    const comments = changes.some(({ noun, task }) => noun === "comment" && task === number);
    const runs = changes.some(({ noun, task_id: task }) => noun === "suggestion" || (noun === "agent.state" && task === this.data.task?.id));
    if (!tasks && !comments && !runs) return;
    await this.attemptLoad(async () => {
      await Promise.all([
        mine && this.data.loadTask(), mine && this.data.loadActivity(), (mine || comments) && this.discussion.load(),
        tasks && this.subtasks.load(), (mine || runs) && this.data.loadRuns(),
      ]);
      if (mine || runs) await this.data.loadSuggestion();
    });
  }

  // --- the page -----------------------------------------------------------------------------------

  template() {
    if (!this.loaded) return this.noticeTemplate();
    const { activity, runs } = this.data;
    const rows = timelineRows({ activity, runs, threads: threadsOf(this.discussion.comments) }, this.shown);
    return html`<div class="task"><div class="task-main"><div class="task-in">${this.noticeTemplate()}${this.titleField.template()}${this.description.template()}
      ${attachments(this)}${this.subtasks.template()}
      <div class="section-h"><h2>Activity</h2><div class="segmented" role="group" aria-label="Show">${VIEWS.map(([view, label]) => html`<button type="button"
        aria-pressed=${this.shown === view ? "true" : "false"} @click=${() => { this.shown = view; this.update(); }}>${label}${view === "runs" && this.data.runs.length ? html`<span class="n num">${this.data.runs.length}</span>` : nothing}</button>`)}</div></div>
      <div class="timeline">${repeat(rows, (row) => row.key ?? row.comment?.id ?? row.run?.id, (row) => rowOf(row, this))}</div>
      ${this.discussion.foot()}
      </div></div>${properties(this)}</div>`;
  }
}

customElements.define("paca-task", PacaTask);
