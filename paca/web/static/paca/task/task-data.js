// One task on the server: its object, activity and runs, and the writes of this page.

import { ApiError, call, newClientId } from "../core/api.js";
import { everyPage } from "../talk/discussion.js";

export class TaskData {
  task = null;
  activity = [];
  attachments = [];
  runs = []; // the conversations of agents on this task, newest first
  suggestion = null;
  #urls;
  #number;
  #mayReadConversations;

  /** `page` is the object that the server wrote into the element. */
  constructor(page) {
    this.#urls = page.urls;
    this.#number = page.number;
    this.#mayReadConversations = page.mayReadConversations;
  }

  /** Load everything. Throws ApiError. */
  async load() {
    await Promise.all([this.loadTask(), this.loadActivity(), this.loadAttachments(), this.loadRuns()]);
  }

  async loadTask() {
    this.task = await call("GET", this.#urls.one);
  }

  async loadActivity() {
    this.activity = await everyPage(this.#urls.activity);
  }

  async loadAttachments() {
    this.attachments = await everyPage(this.#urls.attachments);
  }

  /** Upload a file. Throws ApiError. */
  async attach(file) {
    await call("POST", `${this.#urls.attachments}?name=${encodeURIComponent(file.name)}`, file, { idempotencyKey: newClientId() });
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async detach({ id }) {
    await call("DELETE", `${this.#urls.attachments}${id}/`);
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async loadRuns() {
    if (!this.#mayReadConversations) return;
    const { results } = await call("GET", `${this.#urls.conversations}?task=${this.#number}`);
    this.runs = results;
  }

  /** The suggestion of an agent for the description that nobody has decided on, or null. Throws ApiError. */
  async loadSuggestion() {
    this.suggestion = null;
    if (!this.runs.some((run) => run.trigger_type === "description_write")) return;
    try {
      const newest = await call("GET", this.#urls.suggestion);
      this.suggestion = newest.state === "open" ? newest : null;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }

  /**
   * Change fields. `unlessChangedSince` is the `updated_at` that the change is based on: with it the server
   * refuses to overwrite a later change, and the ApiError has the present object. Throws ApiError.
   */
  async change(fields, unlessChangedSince) {
    this.task = await call("PATCH", this.#urls.one, fields, { ifMatch: unlessChangedSince });
    await this.loadActivity();
  }

  async remove() {
    await call("DELETE", this.#urls.one);
  }

  /** Let an agent write the description; gives the conversation. Throws ApiError. */
  async writeWithAi(agentId, instruction, key = newClientId()) {
    const { conversation } = await call("POST", this.#urls.write, { agent_id: agentId, instruction }, { idempotencyKey: key });
    return conversation;
  }

  /** Make the suggestion the description, unless the task was changed meanwhile. Throws ApiError. */
  async keepSuggestion() {
    await call("POST", `${this.#urls.suggestion}keep/`, {}, { ifMatch: this.task.updated_at, idempotencyKey: newClientId() });
    this.suggestion = null;
    await Promise.all([this.loadTask(), this.loadActivity()]);
  }

  async discardSuggestion() {
    await call("POST", `${this.#urls.suggestion}discard/`, {}, { idempotencyKey: newClientId() });
    this.suggestion = null;
  }

  /** Stop the conversation of an agent on this task. Throws ApiError. */
  async stop(conversationId) {
    await call("POST", `${this.#urls.conversations}${conversationId}/stop/`, {});
  }
}
