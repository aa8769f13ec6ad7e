// The base of elements that show and change objects of the API: an error is shown with a way to try again.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { pageAnnouncer } from "./announce.js";
import { ApiError } from "./api.js";
import { PacaElement } from "./element.js";
import { icon } from "./icons.js";
import { Intents } from "./intents.js";
import { KeptFocus } from "./kept-focus.js";

export class ApiElement extends PacaElement {
  notice = null; // {text, retry, isOfLoad}: what could not be loaded or saved
  loaded = false; // before that the element shows what the server rendered
  announcer = pageAnnouncer();
  intents = new Intents();
  #focus = new KeptFocus(this, "[data-number]"); // the board keeps that of its cards
  #hasServersMarkup = true;

  get #hasContent() {
    return this.loaded || Boolean(this.notice) || !this.#hasServersMarkup;
  }

  update() {
    if (this.#hasContent) super.update();
  }

  flush() {
    if (!this.#hasContent) return;
    if (this.#hasServersMarkup) this.replaceChildren();
    this.#hasServersMarkup = false;
    this.#focus.around(() => super.flush());
  }

  /** Run an action; its ApiError is shown, with `retry` to try again. Gives whether it succeeded. */
  attempt(action, retry = null) {
    return this.#attempt(action, { retry, isOfLoad: false });
  }

  /** Load what the page shows, as `attempt` does. The notice of an action that has failed stays. */
  attemptLoad(action, retry = null) {
    return this.#attempt(action, { retry, isOfLoad: true });
  }

  async #attempt(action, { retry, isOfLoad }) {
    try {
      await action();
      if (!isOfLoad || this.notice?.isOfLoad) this.notice = null;
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!isOfLoad || !this.notice || this.notice.isOfLoad) this.#show(error, { retry, isOfLoad });
      return false;
    } finally {
      this.update();
    }
  }

  /** Show an ApiError until the next success; any other error is thrown again. */
  show(error, retry = null) {
    if (!(error instanceof ApiError)) throw error;
    this.#show(error, { retry, isOfLoad: false });
  }

  #show({ message }, { retry, isOfLoad }) {
    this.notice = { text: message, retry, isOfLoad };
    this.announcer.alert(message);
    this.update();
  }

  noticeTemplate(look = "") {
    if (!this.notice) return nothing;
    return html`<div class="notice notice-bad ${look}">${icon("circle-alert")}<div>${this.notice.text}</div>
      ${this.notice.retry ? html`<button type="button" class="btn btn-s" @click=${this.notice.retry}>Try again</button>` : nothing}
      ${this.loaded ? html`<button type="button" class="btn btn-s btn-quiet" @click=${() => { this.notice = null; this.update(); }}>Close</button>` : nothing}</div>`;
  }
}
