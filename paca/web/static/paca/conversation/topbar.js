// The bar above the rows: breadcrumbs, title, state, Stop and the menu.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { MAX_TITLE_CHARACTERS } from "../core/limits.js";
import { filesInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";
import { stateOf } from "./labels.js";

const STOPPABLE = new Set(["queued", "running", "waiting"]);

export function topbar(view) {
  const { run, page, renaming } = view;
  return html`<header class="topbar">
    <button type="button" class="btn btn-icon btn-quiet phone-only" aria-label="Menu" title="Menu" data-menu>${icon("panel-left")}</button>
    <nav class="crumbs desk-only" aria-label="Where"><a href=${page.urls.project}>${page.project}</a>${icon("chevron-right", "icon-s")}
      <a href=${page.urls.conversations}>Conversations</a>${icon("chevron-right", "icon-s")}</nav>
    <div class="title-stack">${renaming ? titleField(run, view) : html`<h1 title=${run.title}><bdi>${visible(run.title) || "New conversation"}</bdi></h1>`}
      <span class="phone-only">${state(run, "")}</span></div>
    <span class="desk-only">${state(run, "pill")}</span>
    ${run.archived ? html`<span class="badge badge-line">Archived</span>` : nothing}
    ${branch(run)}
    <span class="grow"></span>
    ${view.meter?.contextMeter(run.context) ?? nothing}
    ${STOPPABLE.has(run.status) && page.mayWrite ? stopButton(run, view) : nothing}
    <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Files" title="Files (F)" aria-expanded=${Boolean(view.files)}
      @click=${view.toggleFiles}>${icon("folder")}</button>
    <span class="desk-only"><button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="To-do list" title="To-do list (])"
      aria-expanded=${view.panel?.isOpen(view) ?? false} @click=${view.togglePanel}>${icon("panel-right")}</button></span>
    ${menu(view)}
  </header>`;
}

/** The state with its reason, and while the agent works the time since the turn began. */
export function state(run, classes) {
  const { label, icon: name, tone, reason } = stateOf(run);
  const text = run.stopping ? "Stopping…" : run.pausing ? "Pausing…" : label;
  const began = run.turn?.at ?? run.since;
  const since = run.status === "running" && began && !run.stopping
    ? html` · <paca-since class="num" at=${began}></paca-since>` : nothing;
  return html`<span class="state s-${tone} ${classes}" data-state=${run.status}>${icon(name)}<span>${text}${
    reason ? ` · ${reason}` : ""}${since}</span></span>`;
}

// The branch that was pushed last; its pull request, if there is one.
function branch({ branch: name, prUrl }) {
  if (!name) return nothing;
  const shown = html`${icon("git-branch", "icon-s")}<bdi>${visible(name)}</bdi>`;
  return isAddress(prUrl)
    ? html`<a class="badge badge-line branch desk-only" href=${prUrl} target="_blank" rel="noopener noreferrer" title="Pull request of ${visible(name)}">${shown}</a>`
    : html`<span class="badge badge-line branch desk-only" title="Branch">${shown}</span>`;
}

// The address comes from a git server: it must not be one that runs a script.
const isAddress = (url) => /^https?:\/\//.test(url ?? "");

function stopButton(run, { stop }) {
  return html`<button type="button" class="btn btn-s" ?disabled=${run.stopping} aria-busy=${run.stopping}
    @click=${stop}>${icon("square", "icon-fill")}<span>${run.stopping ? "Stopping…" : "Stop"}</span><kbd>Esc</kbd></button>`;
}

function titleField(run, { rename, stopRenaming }) {
  return html`<form class="title-form" @submit=${(event) => {
    event.preventDefault();
    rename(new FormData(event.target).get("title"));
  }}><input class="input input-s" name="title" aria-label="Title" maxlength=${MAX_TITLE_CHARACTERS} autocomplete="off" .value=${run.title}
    @keydown=${(event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      stopRenaming();
    }} @blur=${(event) => rename(event.target.value)}></form>`;
}

function menu(view) {
  const { page, run } = view;
  const separator = html`<div class="menu-sep" role="separator"></div>`;
  return html`<paca-menu class="opens-left" @open=${view.acts.measureFiles}>
    ${menuButton()}
    <div class="popup" role="menu" aria-label="This conversation" hidden>
      ${page.mayWrite ? html`${run.status === "running" && !run.stopping && !run.pausing
        ? item("pause", "Pause after this step", view.acts.pause) : nothing}
      ${item("pencil", "Rename", view.startRenaming)}` : nothing}
      <button class="menu-item" role="menuitem" type="button" @click=${view.copyLink}>${icon("link")}<span data-said>Copy link</span></button>
      ${view.backgroundEnd.possible ? html`<button class="menu-item" role="menuitemcheckbox" type="button"
        aria-checked=${view.backgroundEnd.wanted} @click=${() => view.acts.notify(!view.backgroundEnd.wanted)}>${icon(view.backgroundEnd.wanted ? "check" : "bell")}Notify me when it ends</button>` : nothing}
      ${separator}
      ${isAddress(run.prUrl) ? html`<a class="menu-item" role="menuitem" href=${run.prUrl} target="_blank" rel="noopener noreferrer">${icon("git-branch")}Pull request</a>` : nothing}
      <a class="menu-item" role="menuitem" href=${page.urls.exportMarkdown} download>${icon("download")}Export as Markdown</a>
      <a class="menu-item" role="menuitem" href=${page.urls.exportJson} download>${icon("download")}Export as JSON</a>
      <a class="menu-item" role="menuitem" href=${page.urls.network}>${icon("plug")}Network</a>
      ${page.mayReadTraces ? item("gauge", "Trace", view.acts.trace) : nothing}
      ${page.mayWrite ? html`${separator}${item("file-text", "Summarise what came before…", view.acts.summarise)}
      ${page.conversation.chat_session_id && !page.agent.retired
        ? item("rotate-ccw", "Start over…", view.acts.clear) : nothing}
      ${STOPPABLE.has(run.status) ? nothing : html`${item("box", run.archived ? "Bring back from the archive" : "Archive", view.acts.archive)}
        ${item("trash-2", "Delete…", view.acts.delete)}`}` : nothing}
      ${files(view)}
    </div></paca-menu>`;
}

/** The entry that removes the files, with their size; the size alone where they cannot be removed. */
function files({ page, run, acts, workspace }) {
  const size = filesInWords(workspace);
  const sub = size ? html` <span class="sub num">${size}</span>` : nothing;
  if (page.mayWrite && !STOPPABLE.has(run.status)) return item("box", html`Remove files…${sub}`, acts.removeFiles);
  return size ? html`<div class="menu-item" role="menuitem" aria-disabled="true" tabindex="-1">${icon("box")}Files${sub}</div>` : nothing;
}

function item(picture, text, onClick) {
  return html`<button class="menu-item" role="menuitem" type="button" @click=${onClick}>${icon(picture)}${text}</button>`;
}

function menuButton() {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-haspopup="menu" aria-expanded="false"
    aria-label="More" title="More">${icon("ellipsis")}</button>`;
}
