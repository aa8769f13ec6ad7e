// The script of pages with a composer for a new chat: the overview and the page of an agent.

import "../core/shell.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { MessageDraft, sendIntentOf } from "../conversation/message-draft.js";

/** <form data-start="/api/v1/..."> with a textarea, and buttons [data-prompt] that fill and send it. */
class ChatStart {
  #form;
  #field;
  #key = newClientId();

  constructor(form) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.draft = new MessageDraft(form.dataset.start);
    this.#field.value ||= this.draft.text;
    this.#field.addEventListener("input", () => { this.draft.text = this.#field.value; });
    this.#field.addEventListener("keydown", (event) => {
      if (!sendIntentOf(event)) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(this.#field.value);
    });
    for (const button of document.querySelectorAll("[data-prompt]")) {
      button.addEventListener("click", () => this.send(button.dataset.prompt));
    }
    if (new URLSearchParams(location.search).has("new")) this.#field.focus();
  }

  async send(text) {
    if (!text.trim() || this.#form.ariaBusy === "true") return;
    this.#field.value = text;
    this.#setBusy(true);
    try {
      // One idempotency key for one message: if the answer is lost, sending again starts no second chat.
      const answer = await call("POST", this.#form.dataset.start, { message: text }, { idempotencyKey: this.#key });
      this.draft.text = "";
      location.assign(this.#form.dataset.next.replace("CONVERSATION", answer.conversation.id ?? answer.conversation));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status) this.#key = newClientId();
      this.#setBusy(false);
      this.#showError(error);
    }
  }

  #setBusy(value) {
    this.#form.ariaBusy = String(value);
    for (const button of document.querySelectorAll("[data-prompt], [data-send]")) button.disabled = value;
    if (value) document.getElementById("start-error").hidden = true;
  }

  #showError(error) {
    const note = document.getElementById("start-error");
    note.querySelector("[data-detail]").textContent = error.message;
    note.hidden = false;
    this.#field.focus();
  }
}

for (const form of document.querySelectorAll("form[data-start]")) new ChatStart(form);

// Choosing another agent loads its page, with its texts, prompts and composer.
for (const choice of document.querySelectorAll("[data-agents]")) {
  choice.addEventListener("change", () => location.assign(`?agent=${choice.value}`));
}

for (const button of document.querySelectorAll("[data-hide-checklist]")) {
  button.addEventListener("click", () => {
    button.closest("[data-checklist]").remove();
    document.cookie = "checklist=hidden; path=/; max-age=31536000; SameSite=Lax";
  });
}
