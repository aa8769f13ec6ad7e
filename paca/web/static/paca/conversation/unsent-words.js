// What a person wrote and the server does not have yet. It outlasts a reload, a sign-out and a lost server.

import { MAX_MESSAGE_CHARACTERS } from "../core/limits.js";
import { load, save } from "../core/tab-storage.js";

/**
 * The words of one composer. `place` is the composer and `person` the id of the member who writes: what one
 * person wrote is not shown to the next who signs in.
 */
export class UnsentWords {
  #draft;
  #messages;
  #edit;

  constructor(place, person) {
    const name = `${place}:${person}`;
    this.#draft = `draft:${name}`;
    this.#messages = `unsent:${name}`;
    this.#edit = `edit:${name}`;
  }

  /** The text of the field. */
  get draft() {
    return load(this.#draft, "");
  }

  set draft(text) {
    save(this.#draft, text || null);
  }

  /** The messages that were sent and not confirmed, oldest first: {client_id, text, on_busy, at}. */
  get messages() {
    return load(this.#messages, []);
  }

  add(message) {
    save(this.#messages, [...this.messages, message]);
  }

  remove(clientId) {
    const rest = this.messages.filter((message) => message.client_id !== clientId);
    save(this.#messages, rest.length ? rest : null);
  }

  /** The queued message that is being edited, {seq, text}, or null. */
  get edit() {
    return load(this.#edit, null);
  }

  set edit(value) {
    save(this.#edit, value);
  }
}

/** The text as JSON and UTF-8 can carry it: half of a surrogate pair becomes a replacement character. */
export function sendable(text) {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** Why the server would refuse the text as too long, or "". It counts code points, as Python does. */
export function tooLong(text) {
  if (text.length <= MAX_MESSAGE_CHARACTERS) return "";
  let count = 0;
  for (const _ of text) count += 1;
  if (count <= MAX_MESSAGE_CHARACTERS) return "";
  const [most, has] = [MAX_MESSAGE_CHARACTERS, count].map((each) => each.toLocaleString("en"));
  return `The message is too long. At most ${most} characters; this has ${has}.`;
}

/** What a key press means in a composer: "send", "interrupt" or "". */
export function sendIntentOf(event) {
  // Safari ends the composition before the Enter that confirms it: only the key code 229 tells.
  const composing = event.isComposing || event.keyCode === 229;
  if (event.key !== "Enter" || composing || event.shiftKey || event.altKey) return "";
  return event.ctrlKey || event.metaKey ? "interrupt" : "send";
}
