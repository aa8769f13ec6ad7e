// What stands around the rows: what is loading above them, and below them the composer or its stead.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { composer } from "./composer.js";
import { isBusy, queue } from "./select.js";
import { tokensInWords } from "./usage.js";

const NOT_HERE = {
  "signed-out": ["You are signed out.", "The run goes on. Sign in again to see it.", "Sign in"],
  forbidden: ["You may no longer see this conversation.", "An owner of the project can give you access.", ""],
  missing: ["This conversation is gone.", "It was deleted, or the project was.", ""],
};

/** Above the first row. */
export function beginning(loading) {
  if (loading === "older") return html`<p class="hint earlier" role="status">Loading earlier steps…</p>`;
  if (loading !== "first") return nothing;
  return html`<div class="sk-flow" aria-busy="true"><span class="sr">Loading</span><div class="sk sk-w45"></div>
    <div class="sk sk-w80"></div><div class="sk sk-w60"></div></div>`;
}

/** Below the last row; `view` is the page's element. */
export function below(view) {
  const { page, run } = view;
  const jump = view.away ? jumpButton(view) : nothing;
  if (NOT_HERE[run.connection]) return closed(NOT_HERE[run.connection], page.urls);
  const notes = html`${view.lost ? lost() : nothing}${
    view.attendance.missing ? unattended() : nothing}${view.trouble ? trouble(view) : nothing}`;
  if (!page.mayWrite) return html`<div class="composer-wrap">${jump}${notes}${watching(page.project)}</div>`;
  return html`${notes}${composer({
    agent: page.agent.name, busy: isBusy(run), queue: queue(run), refused: run.refused, jump,
    facts: facts(run), blocked: page.agent.retired, onSend: view.send,
    onInput: view.typed, onForgive: view.forgive,
  })}`;
}

function facts({ usage }) {
  if (!(usage.input + usage.output)) return nothing;
  return html`<span class="fact num desk-only" title="Tokens used by this conversation">${tokensInWords(usage)}</span>`;
}

function jumpButton({ unseen, toEnd }) {
  return html`<button type="button" class="btn btn-s jump" @click=${toEnd}>${icon("chevron-down")}${
    unseen ? `${unseen} new` : "To the end"}</button>`;
}

function trouble(view) {
  return html`<div class="notice notice-bad composer-note" role="alert">${icon("circle-x")}<div>${view.trouble}</div>
    <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Dismiss" title="Dismiss"
      @click=${() => view.say("")}>${icon("x")}</button></div>`;
}

function lost() {
  return html`<div class="notice composer-note" role="status">${icon("wifi-off")}
    <div><b>Connection lost.</b> The run goes on without this page. Reconnecting…</div></div>`;
}

function unattended() {
  return html`<div class="notice notice-wait composer-note" role="status">${icon("circle-alert")}
    <div><b>No worker is running.</b> What you write is kept, and goes on by itself as soon as there is one.
      Whoever runs this server starts one with <code>manage.py run_worker</code> or, all in one, <code>manage.py up</code>.</div></div>`;
}

function closed([fact, more, action], { signIn }) {
  return html`<div class="composer-wrap"><div class="notice notice-wait" role="alert">${icon("circle-alert")}
    <div><b>${fact}</b> ${more}</div>${action ? html`<a class="btn btn-s" href=${signIn}>${action}</a>` : nothing}</div></div>`;
}

function watching(project) {
  return html`<p class="watching">${icon("eye")} You can watch. An owner of ${project} can give you the right to write.</p>`;
}
