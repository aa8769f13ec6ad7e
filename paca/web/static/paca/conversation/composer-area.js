// The loading hint above the rows, and below them the composer with its notices.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { composer } from "./composer.js";
import { queuedMessages } from "./queued-messages.js";
import { isBusy, isOffline, queue } from "./row-selectors.js";
import { costInWords, tokensInWords } from "./usage.js";

const GONE = new Map([
  ["forbidden", ["You may no longer see this conversation.", "An owner of the project can give you access."]],
  ["missing", ["This conversation was deleted.", "Its project may have been deleted too."]],
]);

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
  const queued = queuedMessages(queue(run), {
    offline: isOffline(run), me: page.me.id, edit: view.queueEditing.edit, acts: view.queueEditing.acts,
  });
  // Words that were not sent stay in sight, also where they can no longer be sent.
  if (GONE.has(run.connection)) return html`<div class="composer-wrap">${goneNotice(GONE.get(run.connection))}${queued}</div>`;
  const notes = html`${view.lanes?.template() ?? nothing}${view.strip?.template() ?? nothing}${connectionNotice(view)}${startNotice(view)}${restNotice(view)}${
    view.workerWatch.noWorker ? noWorkerNotice() : nothing}${view.error ? errorNotice(view) : nothing}${view.backgroundEnd.offer ? notificationOffer(view) : nothing}`;
  if (!page.mayWrite) return html`<div class="composer-wrap">${jump}${notes}${readOnlyHint(page.project)}</div>`;
  return html`${notes}${composer({
    agent: page.agent.name, busy: isBusy(run), queued, refused: run.refused, jump,
    facts: facts(run), plan: planSwitch(view), blocked: page.agent.retired, efforts: page.agent.efforts ?? [], effort: view.effort, onEffort: view.chooseEffort, onSend: view.send,
    chips: view.uploads?.chips() ?? nothing, onAttach: view.attach, onInput: view.saveDraft, onEditLast: view.editLast, onDismiss: view.dismissRefusal,
  })}`;
}

/** Whether the agent only reads until its plan is approved. Only who may approve can switch that off. */
function planSwitch({ run, page, togglePlanMode }) {
  const title = run.planMode ? "It only reads until you approve its plan" : "Let it only read until you approve its plan";
  return html`<button type="button" class="btn btn-quiet btn-s plan-switch" aria-pressed=${run.planMode} title=${title}
    ?disabled=${run.planMode && !page.mayApprove} @click=${togglePlanMode}>${icon("list-checks")}Plan first</button>`;
}

function facts({ usage, demo }) {
  const used = [tokensInWords(usage), demo ? "" : costInWords(usage)].filter(Boolean).join(" · ");
  return used ? html`<span class="fact num desk-only" title="Used by the whole conversation">${used}</span>` : nothing;
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

/** Assigned work, or a review of work that was stopped: a person has to start it. */
function startNotice({ run, page, resume }) {
  if (run.status !== "queued" || run.waitsFor !== "start") return nothing;
  return html`<div class="notice notice-wait composer-note" role="status">${icon("hand")}<div><b>This work waits for a start.</b> A person decides when ${visible(page.agent.name)} begins or goes on.</div>
    ${page.mayWrite ? html`<button type="button" class="btn btn-s" @click=${resume}>Start</button>` : nothing}</div>`;
}

/** Who has approved the rest of the conversation, and the button that takes it back. */
function restNotice({ run, page, revokeRest }) {
  if (!run.restApprovedBy) return nothing;
  return html`<div class="notice notice-wait composer-note">${icon("shield")}<div><b>${visible(run.restApprovedBy)} approved the rest.</b> Calls of this conversation no longer ask.</div>
    ${page.mayApprove ? html`<button type="button" class="btn btn-s" @click=${revokeRest}>Ask again</button>` : nothing}</div>`;
}

function connectionNotice({ run, page, disconnected }) {
  if (run.connection === "signed-out") return signedOutNotice(run, page.urls);
  if (!disconnected) return nothing;
  const [fact, more] = run.connection === "too-many"
    ? ["Too many pages of this server are open.", "Close some of them; this one then connects by itself."]
    : ["Connection lost.", "The conversation goes on without this page. Reconnecting…"];
  return html`<div class="notice composer-note" role="status">${icon("wifi-off")}
    <div><b>${fact}</b> ${more}</div></div>`;
}

function signedOutNotice(run, { signIn }) {
  const kept = run.pending.size ? "Your message is kept, and is sent when you have signed in again."
    : "The conversation goes on. Sign in again to see it.";
  return html`<div class="notice notice-wait composer-note" role="alert">${icon("circle-alert")}
    <div><b>You are signed out.</b> ${kept}</div><a class="btn btn-s" href=${signIn}>Sign in</a></div>`;
}

function noWorkerNotice() {
  return html`<div class="notice notice-wait composer-note" role="status">${icon("circle-alert")}
    <div><b>No worker is running.</b> Your messages are stored, and the agent answers as soon as a worker runs.
      The administrator of this server starts one with <code>manage.py run_worker</code>, or with <code>manage.py up</code> if everything runs in one process.</div></div>`;
}

function notificationOffer({ page, acts: { notify } }) {
  return html`<div class="notice composer-note" role="status">${icon("circle-check")}
    <div><b>${page.agent.name} ended while you were away.</b> Should this browser notify you the next time?</div>
    <span class="notice-acts"><button type="button" class="btn btn-s" @click=${() => notify(true)}>Notify me</button>
      <button type="button" class="btn btn-quiet btn-s" @click=${() => notify(false)}>No</button></span></div>`;
}

function goneNotice([fact, more]) {
  return html`<div class="notice notice-wait" role="alert">${icon("circle-alert")}<div><b>${fact}</b> ${more}</div></div>`;
}

function readOnlyHint(project) {
  return html`<p class="watching">${icon("eye")} You can read only. An owner of ${project} can give you permission to write.</p>`;
}
