// The unsent message of a composer, kept over a reload, and the keys that send it.

/** An unsent message, kept in this tab's session storage; `name` identifies the composer. */
export class MessageDraft {
  #key;

  constructor(name) {
    this.#key = `draft:${name}`;
  }

  get text() {
    return this.#try(() => sessionStorage.getItem(this.#key)) ?? "";
  }

  set text(value) {
    this.#try(() => (value ? sessionStorage.setItem(this.#key, value) : sessionStorage.removeItem(this.#key)));
  }

  // A browser may forbid storage. Then drafts are lost, but the composer must still work.
  #try(act) {
    try {
      return act();
    } catch {
      return null;
    }
  }
}

/** What a key press means in a composer: "send", "interrupt" or "". */
export function sendIntentOf(event) {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.altKey) return "";
  return event.ctrlKey || event.metaKey ? "interrupt" : "send";
}
