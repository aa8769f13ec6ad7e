// The live region: one sentence per finished block, at most one every two seconds, never per token.

const PAUSE_MS = 2000;

export class Announcer {
  #polite;
  #assertive;
  #waiting = "";
  #timer = 0;

  constructor(polite, assertive) {
    this.#polite = polite;
    this.#assertive = assertive;
  }

  /** Say it when the last sentence has had its time; of several that wait, the newest is said. */
  say(sentence) {
    if (!sentence) return;
    this.#waiting = sentence;
    this.#timer ||= setTimeout(() => this.#flush(), PAUSE_MS);
  }

  /** Say it at once, for what a person must act on. */
  alert(sentence) {
    this.#assertive.textContent = sentence;
  }

  #flush() {
    this.#timer = 0;
    this.#polite.textContent = this.#waiting;
    this.#waiting = "";
  }
}

export function pageAnnouncer() {
  return new Announcer(document.getElementById("live"), document.getElementById("alert"));
}
