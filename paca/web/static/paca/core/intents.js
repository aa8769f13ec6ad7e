// The idempotency keys of what a person wants to be done: an intent without an answer keeps its key.

import { newClientId } from "./api.js";

const FIRST_SERVER_ERROR = 500;

export class Intents {
  #keys = new Map(); // intent -> the key of its attempts, until the server has answered

  /**
   * Run `action(key)` for an intent; gives its result. When the answer was lost, the next attempt has the same key,
   * so that the server does the work once. `intent` is a text that is the same for the same input. Throws ApiError.
   */
  async run(intent, action) {
    const key = this.#keys.get(intent) ?? newClientId();
    this.#keys.set(intent, key);
    try {
      const result = await action(key);
      this.#keys.delete(intent);
      return result;
    } catch (error) {
      const isRefused = error.status && error.status < FIRST_SERVER_ERROR; // then nothing is stored
      if (isRefused) this.#keys.delete(intent);
      throw error;
    }
  }
}
