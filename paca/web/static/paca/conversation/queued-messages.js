// The messages above the composer: those that the agent has not read, and those that are not sent yet.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { readableProse } from "../core/terminal.js";

const LABELS = new Map([["queue", "will be read after this step"], ["interrupt", "interrupting"]]);

/**
 * `messages` as `queue` of row-selectors gives them; `offline`: nothing can be sent now. The callback
 * `onRecall(clientId)` takes a message back that is not sent yet.
 */
export function queuedMessages(messages, { offline = false, onRecall } = {}) {
  if (!messages.length) return nothing;
  return html`<ul class="queue" aria-label="Queued messages">${messages.map((message) => html`<li>
    ${icon("corner-down-left", "icon-s")}<span dir="auto">${readableProse(message.text)}</span>
    <small class="muted">${labelOf(message, offline)}</small>
    ${message.sending && offline && !message.acked && onRecall ? html`<button type="button"
      class="btn btn-icon btn-quiet btn-s" aria-label="Take back: ${message.text.slice(0, 60)}" title="Take back"
      @click=${() => onRecall(message.clientId)}>${icon("x")}</button>` : nothing}</li>`)}</ul>`;
}

function labelOf({ sending, acked, on_busy: onBusy }, offline) {
  if (!sending) return LABELS.get(onBusy) ?? LABELS.get("queue");
  if (acked) return "stored";
  return offline ? "not sent yet" : "sending…";
}
