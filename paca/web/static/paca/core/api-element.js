// The base of elements that show and change objects of the API: an error is shown with a way to try again.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { pageAnnouncer } from "./announce.js";
import { ApiError } from "./api.js";
import { PacaElement } from "./element.js";
import { icon } from "./icons.js";
import { Intents } from "./intents.js";
import { KeptFocus } from "./kept-focus.js";

export class ApiElement extends PacaElement {
  notice = null; // {text, retry}: what could not be loaded or saved
  loaded = false; // before that the element shows what the server rendered
  announcer = pageAnnouncer();
  intents = new Intents();
  #focus = new KeptFocus(this, "[data-number]"); // the board keeps that of its cards

  flush() {
    if (!this.loaded) return;
    this.#focus.around(() => super.flush());
  }

  /** Run an action; its ApiError is shown, with `retry` to try again. Gives whether it succeeded. */
  async attempt(action, retry = null) {
    try {
      await action();
      this.notice = null;
      return true;
    } catch (error) {
      this.show(error, retry);
      return false;
    } finally {
      if (this.loaded) this.update();
    }
  }

  /** Show an ApiError until the next success; any other error is thrown again. */
  show(error, retry = null) {
    if (!(error instanceof ApiError)) throw error;
    this.notice = { text: error.message, retry };
    this.announcer.alert(error.message);
    if (this.loaded) this.update();
  }

  noticeTemplate(look = "") {
    if (!this.notice) return nothing;
    return html`<div class="notice notice-bad ${look}">${icon("circle-alert")}<div>${this.notice.text}</div>
      ${this.notice.retry ? html`<button type="button" class="btn btn-s" @click=${this.notice.retry}>Try again</button>` : nothing}
      <button type="button" class="btn btn-s btn-quiet" @click=${() => { this.notice = null; this.update(); }}>Close</button></div>`;
  }
}
