// The script of pages with a composer for a new chat: the overview and the page of an agent.

import "../core/shell.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { UnsentWords, sendIntentOf, sendable, tooLong } from "../conversation/unsent-words.js";

// A browser drops the keys that are pressed while it changes pages, so the page changes in a pause.
const PAUSE_MS = 350;
const LONGEST_WAIT_MS = 4_000;

/** <form data-start="/api/v1/..." data-me="MEMBER"> with a textarea, and buttons [data-prompt] that send their text. */
class ChatStart {
  #form;
  #field;
  #unsent;
  #next = null; // the unsent words of the new conversation, once there is one
  #sending = ""; // the message on its way; what is typed meanwhile comes after it
  #key = newClientId();
  #typed = -Infinity; // when a word was typed last

  constructor(form) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.#unsent = new UnsentWords(form.dataset.start, form.dataset.me);
    this.#field.value ||= this.#unsent.draft;
    this.#field.addEventListener("input", () => {
      this.#typed = performance.now();
      this.#save();
    });
    this.#field.addEventListener("keydown", (event) => {
      if (!sendIntentOf(event)) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(this.#field.value, "");
    });
    for (const button of document.querySelectorAll("[data-prompt]")) {
      button.addEventListener("click", () => this.send(button.dataset.prompt, this.#field.value));
    }
    if (new URLSearchParams(location.search).has("new")) this.#field.focus();
  }

  /** Start a chat with this text; `rest` are the words that stay in the field. */
  async send(text, rest) {
    if (!text.trim() || this.#sending) return;
    const detail = tooLong(text);
    if (detail) {
      this.#showError(detail);
      return;
    }
    this.#sending = sendable(text);
    this.#field.value = rest;
    this.#save();
    this.#setBusy(true);
    try {
      // One idempotency key for one message: if the answer is lost, sending again starts no second chat.
      const answer = await call("POST", this.#form.dataset.start, this.#message, { idempotencyKey: this.#key });
      this.#goTo(answer.conversation.id ?? answer.conversation);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status && error.status < 500) this.#key = newClientId();
      this.#restore();
      this.#showError(error.message);
    }
  }

  get #message() {
    const effort = this.#form.querySelector("[data-effort]")?.value;
    return { message: this.#sending, ...(effort && { effort }) };
  }

  // The page goes on taking words until the next one is there. They are the next message.
  #goTo(id) {
    this.#sending = "";
    this.#unsent.draft = "";
    this.#next = new UnsentWords(id, this.#form.dataset.me);
    this.#save();
    // After a message from the field its author may be writing on, so the next page begins in its composer.
    const write = document.activeElement === this.#field ? "?write" : "";
    const next = this.#form.dataset.next.replace("CONVERSATION", id) + write;
    this.#inPause(() => location.assign(next), performance.now() + LONGEST_WAIT_MS);
  }

  #inPause(act, latest) {
    const now = performance.now();
    if (now - this.#typed > PAUSE_MS || now > latest) act();
    else setTimeout(() => this.#inPause(act, latest), PAUSE_MS / 4);
  }

  #restore() {
    this.#field.value = [this.#sending, this.#field.value].filter(Boolean).join("\n\n");
    this.#sending = "";
    this.#save();
    this.#setBusy(false);
  }

  #save() {
    (this.#next ?? this.#unsent).draft = [this.#sending, this.#field.value].filter(Boolean).join("\n\n");
  }

  #setBusy(value) {
    this.#form.ariaBusy = String(value);
    for (const button of document.querySelectorAll("[data-prompt], [data-send]")) button.disabled = value;
    if (value) document.getElementById("start-error").hidden = true;
  }

  #showError(detail) {
    const note = document.getElementById("start-error");
    note.querySelector("[data-detail]").textContent = detail;
    note.hidden = false;
    this.#field.focus();
  }
}

for (const form of document.querySelectorAll("form[data-start]")) new ChatStart(form);

// Choosing another agent loads its page, with its texts, prompts and composer.
for (const choice of document.querySelectorAll("[data-agents]")) {
  choice.addEventListener("change", () => location.assign(`?agent=${choice.value}`));
}

// The button that starts assigned work which waits for a person.
if (document.querySelector("[data-api]")) import("../core/api-form.js").then(({ listenToApiForms }) => listenToApiForms());

for (const button of document.querySelectorAll("[data-hide-checklist]")) {
  button.addEventListener("click", () => {
    button.closest("[data-checklist]").remove();
    document.cookie = "checklist=hidden; path=/; max-age=31536000; SameSite=Lax";
  });
}
