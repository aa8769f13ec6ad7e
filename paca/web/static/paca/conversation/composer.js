// The composer: the message field, the queued messages above it, and the buttons to send.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { sendIntentOf } from "./unsent-words.js";

export const EFFORTS = new Map([["quick", "Quick"], ["standard", "Standard"], ["determined", "Determined"]]);

/**
 * With `busy` the button queues and its menu interrupts. `queued` is a template above the field, `facts`
 * one at the right of the foot. `efforts` are those that the agent sets, and `effort` the chosen one. Callbacks: onEffort(name), onSend("queue" or "interrupt"), onInput(), onEditLast(), onDismiss(). The caller reads and empties
 * the textarea.
 */
export function composer({ agent, busy, queued, refused, facts, plan, efforts, effort, onEffort, blocked, onSend, onInput, onEditLast, onDismiss, jump, chips = nothing, onAttach }) {
  return html`<div class="composer-wrap">${jump}${refusal(refused, onDismiss)}${queued}
    <form class="composer" aria-label="Message to ${agent}" @paste=${(event) => take(event, event.clipboardData, onAttach)}
      @dragover=${dragged} @dragleave=${dragged} @drop=${(event) => take(event, event.dataTransfer, onAttach)} @submit=${(event) => {
      event.preventDefault();
      onSend("queue");
    }}>${chips}
      <textarea rows="1" dir="auto" aria-label="Message" placeholder="Write to ${agent}" enterkeyhint="send"
        @input=${onInput} @keydown=${(event) => onKeydown(event, busy, onSend, onEditLast)}></textarea>
      <div class="composer-foot">${onAttach ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Attach files" title="Attach files"
        @click=${() => onAttach()}>${icon("paperclip")}</button>` : nothing}${plan}
        <span class="fact hint-keys desk-only">${busy ? "Enter queues" : "Enter sends"}, Shift+Enter for a new line</span>
        ${efforts.length ? effortChoice(efforts, effort, onEffort) : nothing}<span class="grow"></span>${facts}${busy ? queueButtons(blocked, onSend) : sendButton(blocked)}
      </div>
    </form></div>`;
}

/** Take files that are pasted or dropped; words stay to the browser. */
function take(event, from, onAttach) {
  event.currentTarget.classList.remove("is-target");
  const files = [...(from?.files ?? [])];
  if (!files.length || !onAttach) return;
  event.preventDefault();
  onAttach(files);
}

function dragged(event) {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  event.currentTarget.classList.toggle("is-target", event.type === "dragover");
}

function onKeydown(event, busy, onSend, onEditLast) {
  if (event.key === "ArrowUp" && !event.target.value && onEditLast?.()) event.preventDefault();
  const intent = sendIntentOf(event);
  if (!intent) return;
  event.preventDefault();
  onSend(intent === "interrupt" && busy ? "interrupt" : "queue");
}

function refusal(refused, onDismiss) {
  if (!refused) return nothing;
  return html`<div class="notice notice-bad composer-note" role="alert">${icon("circle-x")}
    <div><b>Not sent.</b> ${visible(refused.detail)} Your text is in the field.</div>
    <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Dismiss" title="Dismiss"
      @click=${onDismiss}>${icon("x")}</button></div>`;
}

function effortChoice(efforts, effort, onEffort) {
  return html`<label class="select-wrap agent-choice"><span class="sr">Effort</span><select class="select input-s"
    title="Effort of this message and the next ones" @change=${(event) => onEffort(event.target.value)}>${
    [...EFFORTS].filter(([name]) => name === "standard" || efforts.includes(name)).map(([name, label]) => html`<option
      value=${name} ?selected=${name === effort}>${label}</option>`)}</select>${icon("chevrons-up-down", "icon-s")}</label>`;
}

function sendButton(blocked) {
  return html`<button class="btn btn-icon btn-primary btn-s" aria-label="Send" title="Send (Enter)"
    ?disabled=${blocked}>${icon("arrow-up")}</button>`;
}

function queueButtons(blocked, onSend) {
  return html`<paca-menu class="btn-group opens-up">
    <button class="btn btn-s btn-primary" ?disabled=${blocked}>Queue</button>
    <button type="button" class="btn btn-icon btn-primary btn-s" aria-haspopup="menu" aria-expanded="false"
      aria-label="Queue, or interrupt now" title="Queue, or interrupt now">${icon("chevron-down")}</button>
    <div class="popup" role="menu" aria-label="While the agent works" hidden>
      ${choice("corner-down-left", "Queue", "The agent reads it after the current step", "↵", () => onSend("queue"))}
      ${choice("zap", "Interrupt now", "Stops the current step; nothing is lost", "Ctrl ↵", () => onSend("interrupt"))}
    </div></paca-menu>`;
}

function choice(name, label, meaning, keys, onClick) {
  return html`<button class="menu-item is-tall" role="menuitem" type="button" @click=${onClick}>${icon(name)}
    <span>${label}<small class="muted blk">${meaning}</small></span><span class="sub"><kbd>${keys}</kbd></span></button>`;
}
