// The line above the flow: where we are, the title, the state that is always visible, Stop.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { stateOf } from "./labels.js";

const STOPPABLE = new Set(["queued", "running", "waiting"]);

export function topbar(view) {
  const { run, page, renaming } = view;
  return html`<header class="topbar">
    <button type="button" class="btn btn-icon btn-quiet phone-only" aria-label="Menu" title="Menu" data-menu>${icon("panel-left")}</button>
    <nav class="crumbs desk-only" aria-label="Where"><a href=${page.urls.project}>${page.project}</a>${icon("chevron-right", "icon-s")}
      <a href=${page.urls.conversations}>Conversations</a>${icon("chevron-right", "icon-s")}</nav>
    <div class="title-stack">${renaming ? titleField(run, view) : html`<h1 title=${run.title}>${visible(run.title) || "New conversation"}</h1>`}
      <span class="phone-only">${state(run, "")}</span></div>
    <span class="desk-only">${state(run, "pill")}</span>
    <span class="grow"></span>
    ${STOPPABLE.has(run.status) && page.mayWrite ? stopButton(run, view) : nothing}
    ${more(view)}
  </header>`;
}

/** The state with its reason, and the time it has been so while it works. */
export function state(run, classes) {
  const { label, icon: name, tone, because } = stateOf(run);
  const text = run.stopping ? "Stopping…" : label;
  const began = run.turn?.at ?? run.since;
  const since = run.status === "running" && began && !run.stopping
    ? html` · <paca-since class="num" at=${began}></paca-since>` : nothing;
  return html`<span class="state s-${tone} ${classes}" data-state=${run.status}>${icon(name)}<span>${text}${
    because ? ` · ${because}` : ""}${since}</span></span>`;
}

function stopButton(run, { stop }) {
  return html`<button type="button" class="btn btn-s" ?disabled=${run.stopping} aria-busy=${run.stopping}
    @click=${stop}>${icon("square", "icon-fill")}<span>${run.stopping ? "Stopping…" : "Stop"}</span><kbd>Esc</kbd></button>`;
}

function titleField(run, { rename, stopRenaming }) {
  return html`<form class="title-form" @submit=${(event) => {
    event.preventDefault();
    rename(new FormData(event.target).get("title"));
  }}><input class="input input-s" name="title" aria-label="Title" maxlength="200" autocomplete="off" .value=${run.title}
    @keydown=${(event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      stopRenaming();
    }} @blur=${(event) => rename(event.target.value)}></form>`;
}

function more({ page, run, copyLink, startRenaming, freeWorkspace }) {
  return html`<paca-menu class="opens-left">
    ${iconButtonWithMenu()}
    <div class="popup" role="menu" aria-label="This conversation" hidden>
      ${page.mayWrite ? html`<button class="menu-item" role="menuitem" type="button" @click=${startRenaming}>${icon("pencil")}Rename</button>` : nothing}
      <button class="menu-item" role="menuitem" type="button" @click=${copyLink}>${icon("link")}<span data-said>Copy link</span></button>
      <div class="menu-sep" role="separator"></div>
      <a class="menu-item" role="menuitem" href=${page.urls.exportMarkdown} download>${icon("download")}Export as Markdown</a>
      <a class="menu-item" role="menuitem" href=${page.urls.exportJson} download>${icon("download")}Export as JSON</a>
      ${page.mayWrite && !STOPPABLE.has(run.status) ? html`<div class="menu-sep" role="separator"></div>
        <button class="menu-item" role="menuitem" type="button" @click=${freeWorkspace}>${icon("box")}Remove its files…</button>` : nothing}
    </div></paca-menu>`;
}

function iconButtonWithMenu() {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-haspopup="menu" aria-expanded="false"
    aria-label="More" title="More">${icon("ellipsis")}</button>`;
}
