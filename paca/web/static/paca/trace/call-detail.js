// One call of the trace: its times, and the requests and the reply of a model call that was traced.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { ApiError } from "../core/api.js";
import { copyFrom } from "../core/copy.js";
import { icon } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";
import { duration, fullDate } from "../core/time.js";
import { tokensInWords } from "../conversation/usage.js";

const PREVIEW = 120;

/** `known`: the trace from the API, null while it is on the way, or an error. */
export function callDetail(each, known) {
  return html`<div class="trace-detail">${facts(each)}${
    each.kind === "tool" ? html`<p class="text-2">Its arguments and its result stand in the conversation and among the events.</p>`
      : !each.trace ? html`<p class="text-2">Its request and its reply were not kept: the trace was off, or they are not kept any more.</p>`
        : known instanceof ApiError ? html`<p class="notice notice-bad" role="alert">${known.message}</p>`
          : known ? contents(known) : html`<p class="text-2">Loading…</p>`}</div>`;
}

function facts(each) {
  const { trace } = each;
  const after = (seconds) => (seconds == null ? "" : duration(seconds));
  return definitions([
    ["Began", fullDate(each.started_at)],
    ["Took", after(each.seconds)],
    ["Waited", each.kind === "tool" ? after(each.waited_seconds) : ""],
    ["First byte after", after(trace?.first_byte_seconds)],
    ["First token after", after(trace?.first_token_seconds)],
    ["Last byte after", after(trace?.last_byte_seconds)],
    ["Tokens", each.tokens ? `${tokensInWords(each.tokens) || "unknown"} (${tokenParts(each.tokens)})` : ""],
    ["HTTP", trace?.http_status ?? ""],
    ["Provider’s request id", trace?.request_id ?? ""],
    ["Exit code", each.exit_code ?? ""],
    ["Cause", each.cause ?? ""],
  ]);
}

const tokenParts = ({ input, output, cache_read: read, cache_write: write }) =>
  `input ${input ?? "unknown"}, output ${output ?? "unknown"}, from cache ${read ?? "unknown"}, to cache ${write ?? "unknown"}`;

function definitions(pairs) {
  return html`<dl class="trace-dl">${pairs.filter(([, value]) => value !== "").map(
    ([name, value]) => html`<div><dt>${name}</dt><dd class="num"><bdi>${visible(String(value))}</bdi></dd></div>`,
  )}</dl>`;
}

function contents({ exchanges, exchanges_left_out: leftOut, reply, error, discarded_text: discarded }) {
  return html`${exchanges.map((exchange, number) => request(exchange, exchanges.length > 1 ? ` ${number + 1}` : ""))}
    ${leftOut ? html`<p class="text-2">${leftOut} further requests are not kept.</p>` : nothing}
    ${error ? section("Error", error, [["Error", `${error.code}: ${error.detail}`]]) : nothing}
    ${discarded ? section("Discarded answer", discarded, [["Text", discarded]]) : nothing}
    ${reply ? section("Reply", reply, [...reply.blocks.map((block) => [block.type, block]), ["stop and usage", { stop: reply.stop, usage: reply.usage, notices: reply.notices }]]) : nothing}`;
}

function request(exchange, which) {
  const { body, omitted_bytes: omitted, method, url, headers, reply_headers: replyHeaders, status, refusal } = exchange;
  const read = parsed(body);
  const parts = [["headers", Object.fromEntries(headers)]];
  if (read && typeof read === "object" && !Array.isArray(read)) {
    const { messages, ...rest } = read;
    for (const [name, value] of Object.entries(rest)) parts.push([name, value]);
    for (const [number, message] of (Array.isArray(messages) ? messages : []).entries()) {
      parts.push([`${number + 1} ${message?.role ?? ""}`, message?.content ?? message?.blocks ?? message]);
    }
  } else parts.push(["body", body]);
  if (status) parts.push([`answer ${status}`, Object.fromEntries(replyHeaders)]);
  if (refusal) parts.push(["refusal", parsed(refusal) ?? refusal]);
  const size = `${sizeInWords(new Blob([body]).size)}${omitted ? `, ${sizeInWords(omitted)} of the middle are not kept` : ""}`;
  return section(`Request${which}`, body, parts, `${method} ${url} · ${size}`.trim());
}

/** A heading with a button that copies `whole`, and the parts folded. */
function section(title, whole, parts, note = "") {
  return html`<section class="trace-sec"><header><h4>${title}</h4><span class="sub"><bdi>${visible(note)}</bdi></span>
    <button type="button" class="btn btn-quiet btn-s" title="Copy" aria-label="Copy: ${title}" @click=${(event) => copyFrom(event.currentTarget, pretty(whole))}>${icon("copy")}<span data-said>Copy</span></button></header>
    ${parts.map(([name, value]) => folded(name, value))}</section>`;
}

function folded(name, value) {
  const text = pretty(value);
  const first = text.replace(/\s+/g, " ").slice(0, PREVIEW);
  return html`<details class="trace-fold"><summary>${icon("chevron-right", "icon-s")}<b>${visible(name)}</b><span class="sub"><bdi>${visible(first)}</bdi></span></summary>
    <pre tabindex="0">${visible(text)}</pre></details>`;
}

/** A text as it is, else readable JSON. */
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? "";
  const read = parsed(value);
  return read && typeof read === "object" ? JSON.stringify(read, null, 2) : value;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
