// Checks whether any worker runs, when an active conversation shows no progress.

import { ApiError, call } from "../core/api.js";

const WAITS_FOR_WORKER = new Set(["queued", "running"]);
const SILENT_MS = 5_000;
const REPEAT_MS = 10_000;
const SOON_MS = 1_000;

export class WorkerWatch {
  noWorker = false; // whether no worker takes conversations
  #url;
  #onChange;
  #timer = 0;

  constructor(url, onChange) {
    this.#url = url;
    this.#onChange = onChange;
  }

  /** Something happened in the conversation; its status is now `status`. */
  onActivity(status) {
    clearTimeout(this.#timer);
    if (WAITS_FOR_WORKER.has(status)) this.#checkIn(this.noWorker ? SOON_MS : SILENT_MS);
    else this.#set(false);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#url = "";
  }

  #checkIn(ms) {
    if (this.#url) this.#timer = setTimeout(this.#check, ms);
  }

  #check = async () => {
    const timer = this.#timer;
    try {
      const answer = document.hidden ? null : await call("GET", this.#url);
      if (timer !== this.#timer) return; // the conversation went on meanwhile
      if (answer) this.#set(answer.working === 0);
    } catch (error) {
      // A lost connection has a notice of its own.
      if (!(error instanceof ApiError)) throw error;
    }
    if (timer === this.#timer) this.#checkIn(REPEAT_MS);
  };

  #set(noWorker) {
    if (noWorker === this.noWorker) return;
    this.noWorker = noWorker;
    this.#onChange();
  }
}
