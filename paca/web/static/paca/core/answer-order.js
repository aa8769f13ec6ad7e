// The order of answers: what a page holds never gives way to an answer that was older.
//
// Requests overlap. News of a change makes a page read an object while a person saves it, and the answer to the
// read, from before the save, can come last.

import { ApiError } from "./api.js";

export class AnswerOrder {
  #reads = 0; // reads begun
  #newest = 0; // the newest read that was taken
  #renewals = 0; // how often what the page holds became newer than the requests under way

  /**
   * Read by `ask()` and hand the answer to `take(answer)`. After a write that was answered meanwhile it is read
   * again; after a later read it is dropped. Throws what they throw.
   */
  async read(ask, take) {
    for (;;) {
      const number = (this.#reads += 1);
      const renewals = this.#renewals;
      const answer = await ask();
      if (number < this.#newest) return;
      if (renewals !== this.#renewals) continue;
      this.#newest = number;
      take(answer);
      return;
    }
  }

  /** What the page holds is newer than the reads under way: each is made again. */
  renew() {
    this.#renewals += 1;
  }

  /**
   * Write by `ask()`, hand the answer to `take(answer)` and give it. If another answer was taken meanwhile, this one
   * may be older: then the object is read again by `reread()`, if given. Throws what `ask` and `take` throw.
   */
  async write(ask, take, reread) {
    const [newest, renewals] = [this.#newest, this.#renewals];
    const answer = await ask();
    const isFirst = newest === this.#newest && renewals === this.#renewals;
    this.renew();
    take(answer);
    if (!isFirst && reread) await withoutError(reread);
    return answer;
  }
}

// The write is stored, whatever becomes of the read: the next news of the object repeats it.
async function withoutError(read) {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
