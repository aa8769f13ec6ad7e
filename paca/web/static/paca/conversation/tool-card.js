// The card of a tool call: its action and state, and its output when it is open.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { copyFrom } from "../core/copy.js";
import { countChanges, parseDiff } from "../core/diff.js";
import "../core/follow-end.js";
import { icon } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { readable, readableProse, tail, visible } from "../core/terminal.js";
import { duration } from "../core/time.js";
import { outcome, reading, toolOf, verb, what } from "./tools.js";

const LIVE_LINES = 200;

/**
 * `open` tells whether the card is open; a click calls `onToggle(key, open)`. `api`: the address of the
 * conversation in the API.
 */
export function toolCard(entry, { agent, api, open, onToggle }) {
  if (!hasBody(entry)) return html`<div class="tool is-${entry.state}"><div class="tool-head">${line(entry)}</div></div>`;
  return html`<details class="tool is-${entry.state}" ?open=${open}>
    <summary @click=${(event) => toggle(event, entry, onToggle)}>${line(entry)}</summary>
    ${open ? html`<div class="tool-body">${BODIES.get(kindOf(entry))(entry)}${foot(entry, agent, api)}</div>` : nothing}
  </details>`;
}

// The element must not toggle itself: the page decides which cards are open.
function toggle(event, entry, onToggle) {
  event.preventDefault();
  onToggle(entry.key, !event.currentTarget.parentElement.open);
}

function line(entry) {
  const end = outcome(entry);
  return html`<span class="verb">${verb(entry)}</span> <span class="what">${visible(what(entry))}</span>
    <span class="facts">${stat(entry)}${time(entry)}${mark(end)}</span>`;
}

function mark({ tone, icon: name, text }) {
  if (!text) return html`${icon(name, "icon-s c-ok")}<span class="sr">finished</span>`;
  return html`<span class="state s-${tone}">${icon(name)}${text}</span>`;
}

function time(entry) {
  if (entry.state === "running" && entry.startedAt) {
    return html`<paca-since class="num" at=${entry.startedAt}></paca-since>`;
  }
  return entry.seconds >= 0.05 ? html`<span class="num opt">${duration(entry.seconds)}</span>` : nothing;
}

function stat(entry) {
  const change = changeOf(entry);
  if (!change) return nothing;
  return html`<span class="stat"><span class="p">+${change.added}</span>${
    change.removed ? html`<span class="m">−${change.removed}</span>` : nothing}</span>`;
}

// --- the body of the card -------------------------------------------------------------------------

const BODIES = new Map(Object.entries({
  plain: (entry) => printed(entry),
  command: (entry) => [command(entry), printed(entry)],
  change: (entry) => (entry.state === "running" ? nothing : changed(entry)),
  diff: (entry) => changed(entry),
  thought: (entry) => html`<p class="tool-thought" dir="auto">${readableProse(argument(entry, "thought"))}</p>`,
  unknown: (entry) => [argumentsOf(entry), printed(entry), images(entry)],
}));

const kindOf = (entry) => toolOf(entry).body ?? "plain";

/** Whether a card can be opened: before a call has run, only if its arguments are worth reading. */
function hasBody(entry) {
  return ["command", "thought", "unknown"].includes(kindOf(entry))
    || Boolean(entry.output) || (entry.state === "running" && entry.live.length > 0);
}

/** An argument as text. The model chose its type. */
function argument({ arguments: given }, name) {
  const value = given && Object.hasOwn(given, name) ? given[name] : "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// One template for both, so that the result takes the place of the live output where the reader is.
function printed(entry) {
  const isLive = entry.state === "running";
  if (!(isLive ? entry.live.length : entry.output)) return nothing;
  const { text, removed } = isLive ? liveTail(entry) : { text: readable(entry.output), removed: 0 };
  const told = TOLD.has(entry.cause);
  return html`${told ? html`<div class="tool-told">Told to the agent:</div>` : nothing}
    <paca-follow-end class=${told ? "is-told" : ""} ?live=${isLive} .removed=${removed}><pre tabindex="0" role="group" aria-label=${isLive ? "Live output" : "Output"}>${text}${
      isLive ? html`<span class="caret"></span>` : nothing}</pre></paca-follow-end>`;
}

// With these causes the tool did not run, and the output is a text that tells the model why.
const TOLD = new Set(["invalid", "unknown_tool"]);

function command(entry) {
  const text = argument(entry, "command") || entry.subject;
  return html`<div class="tool-cmd"><code>${visible(text)}</code>${copyIcon("Copy command", text)}</div>`;
}

function liveTail({ live }) {
  const { text, cut } = tail(readable(live.text), LIVE_LINES);
  if (!cut && !live.start) return { text, removed: 0 };
  // The line that says so stands in place of one.
  return { text: html`<span class="out-dim">The last ${LIVE_LINES} lines</span>\n${text}`, removed: Math.max(0, cut - 1) };
}

const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

/** The images of a result. Its text names them in the same order. */
function images({ images: found }) {
  const shown = (found ?? []).filter(({ kind, data }) => IMAGE.test(kind) && /^[\w+/=]+$/.test(data));
  return shown.map(({ kind, data }, at) => html`<img class="tool-image" alt="Image ${at + 1} of the result" src="data:${kind};base64,${data}">`);
}

function argumentsOf(entry) {
  return html`<pre tabindex="0" role="group" aria-label="Arguments">${
    visible(JSON.stringify(entry.arguments, null, 2))}</pre>`;
}

function changed(entry) {
  const rows = entry.output ? parseDiff(entry.output) : null;
  if (rows) return diff(rows);
  const content = argument(entry, "content");
  if (entry.state === "finished" && content) {
    return diff(content.replace(/\n$/, "").split("\n").map((text, index) => ({ kind: "add", line: index + 1, text })));
  }
  return printed(entry);
}

const SIGNS = new Map([["add", "+"], ["del", "−"], ["same", " "]]);

function diff(rows) {
  return html`<div class="diff" tabindex="0" role="group" aria-label="Changed lines"><div class="diff-in">${rows.map(
    (row) => html`<div class=${row.kind}><i>${row.line}</i><b>${SIGNS.get(row.kind) ?? ""}</b><span>${visible(row.text)}</span></div>`,
  )}</div></div>`;
}

function changeOf(entry) {
  if (toolOf(entry).body !== "change" || entry.state !== "finished") return null;
  const rows = parseDiff(entry.output);
  if (rows) return countChanges(rows);
  const content = argument(entry, "content");
  return content ? { added: content.split("\n").length - content.endsWith("\n"), removed: 0 } : null;
}

function foot(entry, agent, api) {
  const meaning = reading(entry, agent);
  return html`${meaning ? html`<div class="tool-note">${icon("circle-alert")}<span>${meaning}</span></div>` : nothing}
    ${entry.output ? html`<div class="tool-foot"><span>${cutNote(entry)}</span>${download(entry, api)}
      <button type="button" class="btn btn-quiet btn-s" title="Copy output"
        @click=${(event) => copyFrom(event.currentTarget, readable(entry.output))}>
        ${icon("copy")}<span data-said>Copy output</span></button></div>` : nothing}`;
}

/** A link to the full output. It opens a page of its own, which tells why if the output is gone. */
function download(entry, api) {
  if (!(entry.full_output_bytes > 0)) return nothing;
  return html`<a class="btn btn-quiet btn-s" target="_blank" rel="noopener" title="Download the full output"
    href="${api}calls/${encodeURIComponent(entry.call_id)}/output/">${icon("download")}<span>Full output, ${sizeInWords(entry.full_output_bytes)}</span></a>`;
}

function cutNote(entry) {
  if (!entry.truncated) return nothing;
  if (entry.full_output_bytes > 0) return "Shortened: only the beginning and the end are shown.";
  if (!entry.file) return "Shortened: only the beginning and the end are shown.";
  return html`Shortened here. The full output is in <code>${visible(entry.file)}</code> in the sandbox.`;
}

function copyIcon(label, text) {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label=${label} title=${label}
    @click=${(event) => copyFrom(event.currentTarget, text)}>${icon("copy")}</button>`;
}
