// The list of changed files, and the diff of the chosen one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { parseDiff } from "../core/diff.js";
import { icon } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";

const LETTERS = new Map([["added", "A"], ["changed", "M"], ["deleted", "D"]]);
const WORDS = new Map([["added", "Added"], ["changed", "Changed"], ["deleted", "Deleted"]]);
const SIGNS = new Map([["add", "+"], ["del", "−"], ["same", " "]]);
const SHOWN = 500;

/** `found` is the answer of the API, `view` has `selected`, `base`, `openChange(path)` and `chooseBase(name)`. */
export function changesList(found, view) {
  const { entries, repositories, collapsed } = found;
  return html`<div class="changes" tabindex="-1">
    ${repositories.length ? baseChoice(view) : nothing}
    ${repositories.filter(({ problem }) => problem).map(({ path, problem }) => html`<p class="files-note">${icon("circle-alert", "icon-s")} <bdi>${visible(path)}</bdi>: ${problem}</p>`)}
    ${entries.length ? html`<ul class="change-list" aria-label="Changed files">${entries.slice(0, SHOWN).map((entry) => changeRow(entry, view))}</ul>`
      : html`<p class="files-note">Nothing has changed ${view.base === "branch" ? "against the base branch" : "since the start"}.</p>`}
    ${entries.length > SHOWN ? html`<p class="files-note">The first ${SHOWN} of ${entries.length.toLocaleString("en")} files.</p>` : nothing}
    ${found.cut ? html`<p class="files-note">There are more changes than could be compared.</p>` : nothing}
    ${collapsed.length ? html`<p class="files-note text-2">Left out: <bdi>${collapsed.slice(0, 5).map(visible).join(", ")}</bdi>${collapsed.length > 5 ? ` and ${collapsed.length - 5} more` : ""}</p>` : nothing}
  </div>`;
}

function baseChoice({ base, chooseBase }) {
  return html`<div class="segmented files-mode" role="group" aria-label="Compare with">${[["start", "Since the start"], ["branch", "Base branch"]].map(
    ([name, label]) => html`<button type="button" aria-pressed=${base === name} @click=${() => chooseBase(name)}>${label}</button>`)}</div>`;
}

function changeRow({ path, change, added, removed }, { selected, openChange }) {
  const at = path.lastIndexOf("/") + 1;
  return html`<li><button type="button" class="change-row" aria-current=${path === selected} title=${visible(path)} @click=${() => openChange(path)}>
    <span class="letter is-${change}" aria-hidden="true">${LETTERS.get(change)}</span><span class="sr">${WORDS.get(change)}</span>
    <code><bdi>${visible(path.slice(0, at))}<b>${visible(path.slice(at))}</b></bdi></code>${counts(added, removed)}</button></li>`;
}

function counts(added, removed) {
  if (added === null && removed === null) return nothing;
  return html`<span class="stat">${added ? html`<span class="p"><span class="sr">lines added: </span>+${added}</span>` : nothing}${
    removed ? html`<span class="m"><span class="sr">lines removed: </span>−${removed}</span>` : nothing}</span>`;
}

/** The diff of one file, as the API answers it. */
export function diffView(found) {
  if (found.problem) return html`<p class="files-note">${found.problem}</p>`;
  if (found.binary) return html`<p class="files-note">${found.type}, ${sizeInWords(found.size)}. It is not text, so it has no diff.</p>`;
  if (found.too_large) return html`<p class="files-note">The file is too large to compare (${sizeInWords(found.size)}).</p>`;
  const rows = parseDiff(found.diff);
  if (!rows) return html`<p class="files-note">${found.size || found.change === "deleted" ? "No line differs." : "The file is empty."}</p>`;
  return html`<div class="diff" tabindex="0" role="group" aria-label="Changed lines of ${visible(found.path)}"><div class="diff-in">${rows.map(
    (row) => html`<div class=${row.kind}><i>${row.line}</i><b>${SIGNS.get(row.kind) ?? ""}</b><span>${visible(row.text)}</span></div>`)}</div></div>
    ${found.cut ? html`<p class="files-note">The diff is longer than what is shown.</p>` : nothing}`;
}
