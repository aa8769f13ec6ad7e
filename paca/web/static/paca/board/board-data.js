// The tasks of the board on the server: loads columns, refreshes single tasks, creates and moves them.

import { AnswerOrder } from "../core/answer-order.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { find } from "./board-state.js";
import { fits } from "./filters.js";

const NOT_FOUND = 404;

export class BoardData {
  #urls;
  #store;
  #filters = new Map(); // of the newest load
  #boardOrder = new AnswerOrder();
  #taskOrders = new Map(); // number -> the order of the answers about this task
  #loads = new Set(); // for each load under way the numbers of the tasks that were answered meanwhile

  /** `urls` are {board, tasks}; the store has the state of board-state.js. */
  constructor(urls, store) {
    this.#urls = urls;
    this.#store = store;
  }

  /** Load all columns; an older answer never replaces a newer one. Throws ApiError. */
  async load(filters) {
    this.#filters = filters;
    const newer = new Set();
    this.#loads.add(newer);
    try {
      const address = `${this.#urls.board}?${new URLSearchParams([...filters])}`;
      await this.#boardOrder.read(() => call("GET", address), ({ columns }) => {
        for (const order of this.#taskOrders.values()) order.renew();
        this.#store.dispatch({ act: "loaded", columns });
      });
    } finally {
      this.#loads.delete(newer);
    }
    await Promise.all([...newer].map((number) => this.refresh(number)));
  }

  /** Load the next cards of a column. Throws ApiError. */
  async more({ status, next: address }) {
    const { results, next } = await call("GET", address);
    const column = this.#store.state.columns.find((each) => each.status.id === status.id);
    if (column?.next !== address) return; // the columns were loaded again meanwhile
    this.#store.dispatch({ act: "more", status: status.id, cards: results, next });
  }

  /** Fetch a task that has changed, and show it where it belongs now. Throws ApiError. */
  async refresh(number) {
    await this.#orderOf(number).read(() => this.#present(number), (task) => {
      this.#answered(number);
      if (task) this.#changed(task);
      else this.#store.dispatch({ act: "removed", number });
    });
  }

  /** Create a task with this title in a status; gives it. Throws ApiError. */
  async create(title, status, key = newClientId()) {
    const task = await call("POST", this.#urls.tasks, { title, status_id: status }, { idempotencyKey: key });
    this.#show(task, true);
    return task;
  }

  /** Store a new status and place of a task. Throws ApiError. */
  async move(number, status, place) {
    const move = () => call("PATCH", `${this.#urls.tasks}${number}/`, { status_id: status, ...place });
    await this.#orderOf(number).write(move, (task) => {
      this.#store.dispatch({ act: "kept", number });
      this.#show(task, true);
    }, () => this.refresh(number));
  }

  /** The loads under way may bring an older answer about this task. */
  #answered(number) {
    for (const newer of this.#loads) newer.add(number);
  }

  #orderOf(number) {
    if (!this.#taskOrders.has(number)) this.#taskOrders.set(number, new AnswerOrder());
    return this.#taskOrders.get(number);
  }

  /** The task as it is now, or null if it is deleted. */
  async #present(number) {
    try {
      return await call("GET", `${this.#urls.tasks}${number}/`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
      return null;
    }
  }

  // The server alone knows whether a task fits a search; a task on the board stays until the next load.
  #changed(task) {
    const filters = this.#filters;
    this.#show(task, fits(task, filters) && (!filters.has("search") || Boolean(find(this.#store.state, task.number))));
  }

  #show(task, shown) {
    this.#answered(task.number);
    this.#store.dispatch({ act: "changed", task, shown });
  }
}
