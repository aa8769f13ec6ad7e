// The live region of screen readers: a sentence for each finished row, at most one in two seconds.

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

  /** Announce a sentence two seconds after the last one; of several that wait, only the newest. */
  say(sentence) {
    if (!sentence) return;
    this.#waiting = sentence;
    this.#timer ||= setTimeout(() => this.#flush(), PAUSE_MS);
  }

  /** Announce at once, for errors that need an action. */
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
