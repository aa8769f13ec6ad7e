// Checks why an active conversation shows no progress: what it waits for, and whether any worker runs.

import { ApiError, call } from "../core/api.js";

const WAITS_FOR_WORKER = new Set(["queued", "running"]);
const SILENT_MS = 5_000;
const REPEAT_MS = 10_000;
const SOON_MS = 1_000;

export class WorkerWatch {
  noWorker = false; // whether no worker takes conversations
  #urls;
  #status = "";
  #onChange;
  #onDescribed;
  #timer = 0;

  /**
   * `urls`: those of the workers and of the conversation. `onChange()` is called when `noWorker` changes,
   * `onDescribed(conversation)` with the conversation as it is now.
   */
  constructor({ workers, api }, { onChange, onDescribed }) {
    this.#urls = { workers, api };
    this.#onChange = onChange;
    this.#onDescribed = onDescribed;
  }

  /** Something happened in the conversation; its status is now `status`. */
  onActivity(status) {
    clearTimeout(this.#timer);
    this.#status = status;
    if (WAITS_FOR_WORKER.has(status)) this.#checkIn(this.noWorker || status === "queued" ? SOON_MS : SILENT_MS);
    else this.#set(false);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#urls = null;
  }

  #checkIn(ms) {
    if (this.#urls?.workers) this.#timer = setTimeout(this.#check, ms);
  }

  #check = async () => {
    const timer = this.#timer;
    try {
      if (!document.hidden) await this.#ask(() => timer === this.#timer);
    } catch (error) {
      // A lost connection has a notice of its own.
      if (!(error instanceof ApiError)) throw error;
    }
    if (timer === this.#timer) this.#checkIn(REPEAT_MS);
  };

  async #ask(isCurrent) {
    const { workers, api } = this.#urls;
    if (this.#status === "queued") {
      const conversation = await call("GET", api);
      if (!isCurrent()) return; // it went on meanwhile
      this.#onDescribed(conversation);
    }
    const { working } = await call("GET", workers);
    if (isCurrent()) this.#set(working === 0);
  }

  #set(noWorker) {
    if (noWorker === this.noWorker) return;
    this.noWorker = noWorker;
    this.#onChange();
  }
}
