// The field for a comment: drafts that outlast a reload, and a list of members after "@".

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { newClientId } from "../core/api.js";
import { avatar } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { load, save } from "../core/tab-storage.js";
import { visible } from "../core/terminal.js";
import { candidates, completed, mentionAt } from "./mentions.js";

export class CommentBox {
  busy = false;
  error = "";
  other = ""; // the text as it was saved elsewhere meanwhile
  #host;
  #key;
  #text;
  #action = newClientId(); // the same for each attempt to send the same words, so that they are stored once
  #isWanted = false; // other words were sent off while these are on their way
  #mention = null; // {start, query, found, index}
  #send;

  /**
   * `place` names the field for its draft; `send(text, action)` stores the comment with this idempotency key and may
   * throw ApiError; `conflict(present)` is told of the comment that was saved elsewhere meanwhile.
   */
  constructor(host, { place, text = "", send, conflict = () => {}, label = "Comment", cancel = null, submit = "Comment" }) {
    this.#host = host;
    this.#key = `comment:${place}`;
    this.#text = load(this.#key, text);
    this.#send = send;
    this.conflict = conflict;
    this.label = label;
    this.cancel = cancel;
    this.submit = submit;
  }

  /** Forget the words that were not sent. */
  clear() {
    this.#text = "";
    save(this.#key, null);
  }

  async #submitted() {
    const text = this.#text.trim();
    this.#isWanted = this.busy;
    if (!text || this.busy) return;
    this.busy = true;
    this.error = "";
    this.#host.update();
    try {
      await this.#send(text, this.#action);
      this.#sent(text);
    } catch (error) {
      if (!error.status && error.code !== "offline") throw error;
      if (error.status && error.status < 500) this.#action = newClientId();
      this.#refused(error); // the words stay
      this.#isWanted = false;
    } finally {
      this.busy = false;
      this.#host.update();
    }
    if (this.#isWanted) await this.#submitted();
  }

  // What was typed while the words were sent is not sent yet.
  #sent(text) {
    this.#action = newClientId();
    this.other = "";
    const now = this.#text.trim();
    const later = now.startsWith(text) ? now.slice(text.length).trim() : now;
    this.#text = later;
    save(this.#key, later || null);
  }

  #refused(error) {
    this.error = error.message;
    if (error.status !== 412 || !error.present) return;
    this.error = "This comment was changed meanwhile. Your version is kept; save again to replace the present one.";
    this.other = error.present.text;
    this.conflict(error.present);
  }

  #typed(field) {
    if (!this.busy) this.#action = newClientId(); // other words are another comment
    this.#text = field.value;
    save(this.#key, this.#text || null);
    this.#suggest(field);
  }

  #suggest(field) {
    const mention = mentionAt(field.value, field.selectionStart);
    const found = mention ? candidates(this.#host.page.members, mention.query) : [];
    this.#mention = found.length ? { ...mention, found, index: 0 } : null;
    this.#host.update();
  }

  #choose(field, member) {
    const { text, caret } = completed(field.value, field.selectionStart, this.#mention, member.handle);
    field.value = text;
    field.setSelectionRange(caret, caret);
    this.#mention = null;
    this.#typed(field);
    field.focus();
  }

  #pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const field = event.target;
    if (this.#mention && this.#inList(event, field)) return event.preventDefault();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#submitted();
    }
    if (event.key === "Escape" && this.cancel) {
      event.preventDefault();
      event.stopPropagation();
      this.cancel();
    }
    return undefined;
  }

  #inList(event, field) {
    const { found, index } = this.#mention;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#mention = { ...this.#mention, index: (index + step + found.length) % found.length };
    else if (event.key === "Enter" || event.key === "Tab") this.#choose(field, found[index]);
    else if (event.key === "Escape") this.#mention = null;
    else return false;
    event.stopPropagation();
    this.#host.update();
    return true;
  }

  template() {
    const list = this.#mention;
    const id = this.#key.replace(/[^\w-]/g, "-");
    return html`<form class="composer comment-box" @submit=${(event) => { event.preventDefault(); this.#submitted(); }}>
      ${list ? html`<div class="popup mention-list" role="listbox" id="${id}-list" aria-label="Members">${list.found.map((member, index) => html`<div class="menu-item" role="option"
        id="${id}-${index}" aria-selected=${index === list.index ? "true" : "false"} @pointerdown=${(event) => { event.preventDefault(); this.#choose(event.target.closest("form").querySelector("textarea"), member); }}>
        ${avatar(member, "avatar-s")}<bdi>${visible(member.name)}</bdi><span class="sub">@${member.handle}</span></div>`)}</div>` : nothing}
      <textarea rows="2" dir="auto" aria-label=${this.label} placeholder="Comment, or mention an agent with @" .value=${live(this.#text)}
        role="combobox" aria-expanded=${list ? "true" : "false"} aria-autocomplete="list" aria-controls=${list ? `${id}-list` : nothing} aria-activedescendant=${list ? `${id}-${list.index}` : nothing}
        @input=${({ target }) => this.#typed(target)} @keydown=${(event) => this.#pressed(event)} @blur=${() => { this.#mention = null; this.#host.update(); }}></textarea>
      ${this.other ? html`<div class="conflict-one"><h3 class="small muted">The present version</h3><div class="prose">${new GrowingMarkdown().update(this.other, true)}</div></div>` : nothing}
      ${this.error ? html`<p class="field-error">${this.error}</p>` : nothing}
      <div class="composer-foot"><span class="grow"></span>${this.cancel ? html`<button type="button" class="btn btn-quiet btn-s" @click=${this.cancel}>Cancel</button>` : nothing}
        <button class="btn btn-primary btn-s" ?disabled=${this.busy || !this.#text.trim()}>${this.busy ? "Saving…" : this.submit}<kbd>Ctrl ↵</kbd></button></div></form>`;
  }
}
