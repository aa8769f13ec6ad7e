// One task on the server: its object, activity and runs, and the writes of this page.

import { AnswerOrder } from "../core/answer-order.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { everyPage } from "../talk/discussion.js";

const MAX_ATTEMPTS = 4;
const CHANGED_MEANWHILE = 412;
const NOT_FOUND = 404;

export class TaskData {
  task = null;
  activity = [];
  attachments = [];
  runs = []; // the conversations of agents on this task, newest first
  branches = []; // what they have pushed, each with its pull request if it has one
  suggestion = null;
  #urls;
  #number;
  #mayReadConversations;
  #intents;
  #taskOrder = new AnswerOrder();
  #activityOrder = new AnswerOrder();
  #attachmentsOrder = new AnswerOrder();
  #runsOrder = new AnswerOrder();
  #suggestionOrder = new AnswerOrder();

  /** `page` is the object that the server wrote into the element; `intents` have the keys of its actions. */
  constructor(page, intents) {
    this.#intents = intents;
    this.#urls = page.urls;
    this.#number = page.number;
    this.#mayReadConversations = page.mayReadConversations;
  }

  /** Load everything. Throws ApiError. */
  async load() {
    await Promise.all([this.loadTask(), this.loadActivity(), this.loadAttachments(), this.loadRuns()]);
  }

  async loadTask() {
    await this.#taskOrder.read(() => call("GET", this.#urls.one), this.#takeTask);
  }

  #takeTask = (task) => {
    this.task = task;
  };

  async loadActivity() {
    await this.#activityOrder.read(() => everyPage(this.#urls.activity), (rows) => { this.activity = rows; });
  }

  async loadAttachments() {
    await this.#attachmentsOrder.read(() => everyPage(this.#urls.attachments), (files) => { this.attachments = files; });
  }

  /** Upload a file. Throws ApiError. */
  async attach(file) {
    const intent = `file ${file.name} ${file.size} ${file.lastModified}`;
    const url = `${this.#urls.attachments}?name=${encodeURIComponent(file.name)}`;
    await this.#intents.run(intent, (key) => call("POST", url, file, { idempotencyKey: key }));
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async detach({ id }) {
    await call("DELETE", `${this.#urls.attachments}${id}/`);
    await Promise.all([this.loadAttachments(), this.loadActivity()]);
  }

  async loadRuns() {
    if (!this.#mayReadConversations) return;
    await this.#runsOrder.read(() => this.#readRuns(), ([runs, branches]) => { [this.runs, this.branches] = [runs, branches]; });
  }

  async #readRuns() {
    const { results } = await call("GET", `${this.#urls.conversations}?task=${this.#number}&last_words=true`);
    return [results, results.length ? await this.#readBranches() : []];
  }

  async #readBranches() {
    const { results } = await call("GET", this.#urls.branches);
    return results.filter(({ pushed, pr_number: pull }) => pushed || pull !== null);
  }

  /** The suggestion of an agent for the description that nobody has decided on, or null. Throws ApiError. */
  async loadSuggestion() {
    await this.#suggestionOrder.read(() => this.#readSuggestion(), this.#takeSuggestion);
  }

  async #readSuggestion() {
    if (!this.runs.some((run) => run.trigger_type === "description_write")) return null;
    try {
      const newest = await call("GET", this.#urls.suggestion);
      return newest.state === "open" ? newest : null;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
      return null;
    }
  }

  #takeSuggestion = (suggestion) => {
    this.suggestion = suggestion;
  };

  /**
   * Change fields. `unlessChangedSince` is the `updated_at` that the change is based on: with it the server
   * refuses to overwrite a later change, and the ApiError has the present object. Throws ApiError.
   */
  async change(fields, unlessChangedSince) {
    await this.#taskOrder.write(() => call("PATCH", this.#urls.one, fields, { ifMatch: unlessChangedSince }), this.#takeTask, () => this.loadTask());
    try {
      await this.loadActivity();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // the change is stored; the timeline follows with the next news
    }
  }

  /**
   * Change one text. A change that others made to it since the person saw `before` is not overwritten: gives
   * whether it was stored, and `task` is the present one. Changes of other fields, such as the status that an
   * agent sets while it works, do not matter. Throws ApiError.
   */
  async changeText(field, text, { before, since }) {
    return this.#repeatedly(since, () => ({ [field]: text }), (task) => task[field] === before, (task) => task[field] === text);
  }

  /** Change a list as `changed(task)` gives it from the present one, so that what others add stays. Throws ApiError. */
  async changeList(changed) {
    return this.#repeatedly(this.task.updated_at, changed, () => true, () => false);
  }

  // Of two that change the task at once, the server refuses the later one, which looks at the task again.
  async #repeatedly(since, fields, mayRepeat, isStored) {
    let known = since;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.change(fields(this.task), known);
        return true;
      } catch (error) {
        if (error.status !== CHANGED_MEANWHILE || attempt === MAX_ATTEMPTS) throw error;
      }
      await this.loadTask();
      if (isStored(this.task)) return true; // an earlier attempt was stored, and its answer was lost
      if (!mayRepeat(this.task)) return false;
      known = this.task.updated_at;
    }
  }

  /** Delete the task; one that is deleted already is no error. Throws ApiError. */
  async remove() {
    try {
      await call("DELETE", this.#urls.one);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
    }
  }

  /** Let an agent write the description; gives the conversation. Throws ApiError. */
  async writeWithAi(agentId, instruction) {
    const body = { agent_id: agentId, instruction };
    const { conversation } = await this.#intents.run(`write ${JSON.stringify(body)}`, (key) => call("POST", this.#urls.write, body, { idempotencyKey: key }));
    return conversation;
  }

  /** Make the suggestion the description, unless the task or the suggestion was changed meanwhile. Throws ApiError. */
  async keepSuggestion() {
    const { id, turn } = this.suggestion;
    const keep = () => call("POST", `${this.#urls.suggestion}keep/`, { id, turn }, { ifMatch: this.task.updated_at, idempotencyKey: newClientId() });
    await this.#suggestionOrder.write(keep, () => this.#takeSuggestion(null), () => this.loadSuggestion());
    await Promise.all([this.loadTask(), this.loadActivity()]);
  }

  /** Leave the description as it is, unless the suggestion was changed meanwhile. Throws ApiError. */
  async discardSuggestion() {
    const { id, turn } = this.suggestion;
    const discard = () => call("POST", `${this.#urls.suggestion}discard/`, { id, turn }, { idempotencyKey: newClientId() });
    await this.#suggestionOrder.write(discard, () => this.#takeSuggestion(null), () => this.loadSuggestion());
  }

  /** Start work that waits for it. Throws ApiError. */
  async start(conversationId) {
    await call("POST", `${this.#urls.conversations}${conversationId}/continue/`, {});
  }

  /** Stop the conversation of an agent on this task. Throws ApiError. */
  async stop(conversationId) {
    await call("POST", `${this.#urls.conversations}${conversationId}/stop/`, {});
  }
}
