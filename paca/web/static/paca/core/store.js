// A store: one state, changed by its reducer only. Views dispatch actions and subscribe to changes.

export class Store {
  #state;
  #reduce;
  #listeners = new Set();

  constructor(reduce, state) {
    this.#reduce = reduce;
    this.#state = state;
  }

  get state() {
    return this.#state;
  }

  dispatch(action) {
    const before = this.#state;
    this.#state = this.#reduce(before, action);
    if (this.#state === before) return;
    for (const listener of this.#listeners) listener(this.#state, before, action);
  }

  /** Call `listener(state, before, action)` after each change; returns a function that unsubscribes. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
