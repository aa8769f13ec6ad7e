// The messages above the composer: those that the agent has not read, and those that are not sent yet.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { icon } from "../core/icons.js";
import { readableProse } from "../core/terminal.js";
import { sendIntentOf } from "./unsent-words.js";

const LABELS = new Map([["queue", "will be read after this step"], ["interrupt", "interrupting"], ["waiting", "will be read when the agent begins"]]);

/**
 * `messages` as `queue` of row-selectors gives them; `offline`: nothing can be sent now. `edit` is the
 * message that is being edited, {seq, text, saving}. `acts`: recall(clientId) takes a message back that is
 * not sent yet, withdraw(seq) one that the agent has not read, startEdit(message), changeEdit(text),
 * saveEdit(), endEdit().
 */
export function queuedMessages(messages, { offline = false, me = "", edit = null, acts = {} } = {}) {
  if (!messages.length) return nothing;
  return html`<ul class="queue" aria-label="Queued messages">${repeat(messages, ({ key }) => key, (message) =>
    html`<li>${icon("corner-down-left", "icon-s")}${edit && message.seq === edit.seq ? editor(edit, acts)
      : shown(message, offline, message.author_id === me, acts)}</li>`)}</ul>`;
}

function shown(message, offline, mine, acts) {
  return html`<span dir="auto">${readableProse(message.text)}</span>
    <small class="muted">${labelOf(message, offline)}</small>${buttons(message, offline, mine, acts)}`;
}

function buttons(message, offline, mine, acts) {
  const name = message.text.slice(0, 60);
  if (message.sending) {
    return offline && !message.acked && acts.recall ? button("x", "Take back", name, () => acts.recall(message.clientId)) : nothing;
  }
  // A message that interrupts has its effect at once.
  if (!mine || offline || message.on_busy === "interrupt" || !acts.withdraw) return nothing;
  return html`${button("pencil", "Edit", name, () => acts.startEdit(message))}${
    button("x", "Take back", name, () => acts.withdraw(message.seq))}`;
}

function button(picture, what, name, onClick) {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="${what}: ${name}" title=${what}
    @click=${onClick}>${icon(picture)}</button>`;
}

function editor({ text, saving }, { changeEdit, saveEdit, endEdit }) {
  return html`<form class="queue-edit" @submit=${(event) => {
    event.preventDefault();
    saveEdit();
  }}><textarea class="input" rows="2" dir="auto" aria-label="Queued message" .value=${text} ?disabled=${saving}
      @input=${(event) => changeEdit(event.target.value)} @keydown=${(event) => {
        if (event.key === "Escape") endEdit();
        else if (sendIntentOf(event)) saveEdit();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}></textarea>
    <button class="btn btn-s" ?disabled=${saving}>${saving ? "Saving…" : "Save"}</button>
    <button type="button" class="btn btn-quiet btn-s" @click=${endEdit}>Cancel</button></form>`;
}

function labelOf({ sending, acked, on_busy: onBusy, unread }, offline) {
  if (unread) return LABELS.get("waiting");
  if (!sending) return LABELS.get(onBusy) ?? LABELS.get("queue");
  if (acked) return "stored";
  return offline ? "not sent yet" : "sending…";
}
