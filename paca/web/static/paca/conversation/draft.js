// What is being written: kept over a reload, and sent by a key.

/** Unsent words, kept for this tab under the name of their place. */
export class Draft {
  #key;

  constructor(place) {
    this.#key = `draft:${place}`;
  }

  get text() {
    return this.#try(() => sessionStorage.getItem(this.#key)) ?? "";
  }

  set text(value) {
    this.#try(() => (value ? sessionStorage.setItem(this.#key, value) : sessionStorage.removeItem(this.#key)));
  }

  // A browser may forbid storage; a lost draft is then no reason to lose the composer.
  #try(act) {
    try {
      return act();
    } catch {
      return null;
    }
  }
}

/** What a key means in a composer: send, interrupt or nothing. */
export function intentOf(event) {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.altKey) return "";
  return event.ctrlKey || event.metaKey ? "interrupt" : "send";
}
