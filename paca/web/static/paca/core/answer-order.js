// The order of answers: what a page holds never gives way to an answer that was older.
//
// Requests overlap. News of a change makes a page read an object while a person saves it, and the answer to the
// read, from before the save, can come last.

export class AnswerOrder {
  #reads = 0; // reads begun
  #newest = 0; // the newest read that was taken
  #writes = 0; // writes answered, and what else makes reads old

  /**
   * Read by `ask()` and hand the answer to `take(answer)`. After a write that was answered meanwhile it is read
   * again; after a later read it is dropped. Throws what they throw.
   */
  async read(ask, take) {
    for (;;) {
      const number = (this.#reads += 1);
      const writes = this.#writes;
      const answer = await ask();
      if (number < this.#newest) return;
      if (writes !== this.#writes) continue;
      this.#newest = number;
      take(answer);
      return;
    }
  }

  /** What the page holds is newer than the reads under way: each is made again. */
  renew() {
    this.#writes += 1;
  }

  /** Write by `ask()`, hand the answer to `take(answer)` and give it. Throws what they throw. */
  async write(ask, take) {
    const answer = await ask();
    this.renew();
    take(answer);
    return answer;
  }
}
