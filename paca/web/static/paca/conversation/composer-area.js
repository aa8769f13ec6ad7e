// The loading hint above the rows, and below them the composer with its notices.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { composer } from "./composer.js";
import { isBusy, queue } from "./row-selectors.js";
import { tokensInWords } from "./usage.js";

const UNAVAILABLE = new Map(Object.entries({
  "signed-out": ["You are signed out.", "The conversation goes on. Sign in again to see it.", "Sign in"],
  forbidden: ["You may no longer see this conversation.", "An owner of the project can give you access.", ""],
  missing: ["This conversation was deleted.", "Its project may have been deleted too.", ""],
}));

/** The hint above the first row; `loading` is first, older, failed or "". */
export function loadingRow(loading) {
  if (loading === "older") return html`<p class="hint earlier" role="status">Loading earlier steps…</p>`;
  if (loading !== "first") return nothing;
  return html`<div class="sk-flow" aria-busy="true"><span class="sr">Loading</span><div class="sk sk-w45"></div>
    <div class="sk sk-w80"></div><div class="sk sk-w60"></div></div>`;
}

/** Notices and composer below the last row; `view` is the <paca-conversation>. */
export function composerArea(view) {
  const { page, run } = view;
  const jump = view.awayFromEnd ? jumpButton(view) : nothing;
  if (UNAVAILABLE.has(run.connection)) return unavailableNotice(UNAVAILABLE.get(run.connection), page.urls);
  const notes = html`${view.disconnected ? disconnectedNotice() : nothing}${
    view.workerWatch.noWorker ? noWorkerNotice() : nothing}${view.error ? errorNotice(view) : nothing}`;
  if (!page.mayWrite) return html`<div class="composer-wrap">${jump}${notes}${readOnlyHint(page.project)}</div>`;
  return html`${notes}${composer({
    agent: page.agent.name, busy: isBusy(run), queue: queue(run), refused: run.refused, jump,
    facts: facts(run), blocked: page.agent.retired, onSend: view.send,
    onInput: view.saveDraft, onDismiss: view.dismissRefusal,
  })}`;
}

function facts({ usage }) {
  if (!(usage.input + usage.output)) return nothing;
  return html`<span class="fact num desk-only" title="Tokens used by this conversation">${tokensInWords(usage)}</span>`;
}

function jumpButton({ unseen, jumpToEnd }) {
  return html`<button type="button" class="btn btn-s jump" @click=${jumpToEnd}>${icon("chevron-down")}${
    unseen ? `${unseen} new` : "Jump to the end"}</button>`;
}

function errorNotice(view) {
  return html`<div class="notice notice-bad composer-note" role="alert">${icon("circle-x")}<div>${view.error}</div>
    <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Dismiss" title="Dismiss"
      @click=${() => view.showError("")}>${icon("x")}</button></div>`;
}

function disconnectedNotice() {
  return html`<div class="notice composer-note" role="status">${icon("wifi-off")}
    <div><b>Connection lost.</b> The conversation goes on without this page. Reconnecting…</div></div>`;
}

function noWorkerNotice() {
  return html`<div class="notice notice-wait composer-note" role="status">${icon("circle-alert")}
    <div><b>No worker is running.</b> Your messages are stored, and the agent answers as soon as a worker runs.
      The administrator of this server starts one with <code>manage.py run_worker</code>, or with <code>manage.py up</code> if everything runs in one process.</div></div>`;
}

function unavailableNotice([fact, more, action], { signIn }) {
  return html`<div class="composer-wrap"><div class="notice notice-wait" role="alert">${icon("circle-alert")}
    <div><b>${fact}</b> ${more}</div>${action ? html`<a class="btn btn-s" href=${signIn}>${action}</a>` : nothing}</div></div>`;
}

function readOnlyHint(project) {
  return html`<p class="watching">${icon("eye")} You can read only. An owner of ${project} can give you permission to write.</p>`;
}
