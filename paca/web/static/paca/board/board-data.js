// The tasks of the board on the server: loads columns, refreshes single tasks, creates and moves them.

import { ApiError, call, newClientId } from "../core/api.js";
import { find } from "./board-state.js";
import { fits } from "./filters.js";

export class BoardData {
  #urls;
  #store;
  #loads = 0;

  /** `urls` are {board, tasks}; the store has the state of board-state.js. */
  constructor(urls, store) {
    this.#urls = urls;
    this.#store = store;
  }

  /** Load all columns. Of two loads that overlap, the later one counts. Throws ApiError. */
  async load(filters) {
    const load = (this.#loads += 1);
    const { columns } = await call("GET", `${this.#urls.board}?${new URLSearchParams([...filters])}`);
    if (load === this.#loads) this.#store.dispatch({ act: "loaded", columns });
  }

  /** Load the next cards of a column. Throws ApiError. */
  async more({ status, next: address }) {
    const { results, next } = await call("GET", address);
    this.#store.dispatch({ act: "more", status: status.id, cards: results, next });
  }

  /** Fetch a task that has changed, and show it where it belongs now. Throws ApiError. */
  async refresh(number, filters) {
    let task = null;
    try {
      task = await call("GET", `${this.#urls.tasks}${number}/`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      this.#store.dispatch({ act: "removed", number });
      return;
    }
    // The server alone knows whether a task fits a search; a task on the board stays until the next load.
    const shown = fits(task, filters) && (!filters.has("search") || Boolean(find(this.#store.state, number)));
    this.#store.dispatch({ act: "changed", task, shown });
  }

  /** Create a task with this title in a status; gives it. Throws ApiError. */
  async create(title, status, key = newClientId()) {
    const task = await call("POST", this.#urls.tasks, { title, status_id: status }, { idempotencyKey: key });
    this.#store.dispatch({ act: "changed", task, shown: true });
    return task;
  }

  /** Store a new status and place of a task. Throws ApiError. */
  async move(number, status, place) {
    const task = await call("PATCH", `${this.#urls.tasks}${number}/`, { status_id: status, ...place });
    this.#store.dispatch({ act: "kept", number });
    this.#store.dispatch({ act: "changed", task, shown: true });
  }
}
