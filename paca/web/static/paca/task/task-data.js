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
  #mayReadConversations;

  /** `page` is the object that the server wrote into the element. */
  constructor(page) {
    this.#urls = page.urls;
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
    const form = new FormData();
    form.append("file", file);
    await call("POST", this.#urls.attachments, form, { idempotencyKey: newClientId() });
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async detach({ id }) {
    await call("DELETE", `${this.#urls.attachments}${id}/`);
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async loadRuns() {
    if (!this.#mayReadConversations) return;
    const { results } = await call("GET", `${this.#urls.conversations}?task=${this.#urls.one.match(/(\d+)\/$/)[1]}`);
    this.runs = results;
  }

  /** The suggestion of an agent for the description, or null. Throws ApiError. */
  async loadSuggestion() {
    try {
      this.suggestion = await call("GET", this.#urls.suggestion);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      this.suggestion = null;
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

  async keepSuggestion() {
    this.task = await call("POST", `${this.#urls.suggestion}keep/`, {});
    this.suggestion = null;
    await this.loadActivity();
  }

  async discardSuggestion() {
    await call("POST", `${this.#urls.suggestion}discard/`, {});
    this.suggestion = null;
  }

  /** Stop the conversation of an agent on this task. Throws ApiError. */
  async stop(conversationId) {
    await call("POST", `${this.#urls.conversations}${conversationId}/stop/`, {});
  }
}
