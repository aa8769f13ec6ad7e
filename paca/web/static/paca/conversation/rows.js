// The templates of rows, by kind.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { copyFrom } from "../core/copy.js";
import { avatar, icon } from "../core/icons.js";
import { boundary } from "../core/error-boundary.js";
import { readableProse, visible } from "../core/terminal.js";
import { clock, duration, fullDate, timeOfDay } from "../core/time.js";
import { plainRow } from "./plain-row.js";
import { toolCard } from "./tool-card.js";
import { groupInWords, outcome, toolOf } from "./tools.js";
import { costInWords, tokensInWords } from "./usage.js";
import { EFFORTS } from "./composer.js";
import { noteInWords, resumeLabel, retryInWords, steps } from "./labels.js";

/** `context`: agent, me, members, model, isOpen(entry), onToggle, prose(key, text, done), acts. */
export function rowTemplate(row, context) {
  return boundary(() => (KINDS.get(row.kind) ?? unknown)(row, context), () => plainRow(row));
}

const KINDS = new Map(Object.entries({
  person, said, thought, tool, ask, group, note, retry, turn, discarded, unknown, pending, now,
}));

// --- the frame of a row ---------------------------------------------------------------------------

function entry(row, context, { node = nothing, classes = "", body, label = nothing, tools = nothing }) {
  const head = row.head ? headOf(row, context, tools) : nothing;
  const mark = row.head ? avatar(authorOf(row, context)) : node === nothing ? nothing : html`<span class="node">${node}</span>`;
  return html`<article class="entry ${row.head ? "is-head" : ""} ${classes}" data-key=${row.key} tabindex="-1"
    aria-label=${label}>${mark}${head}${row.head ? nothing : corner(row, tools)}${body}</article>`;
}

/** The corner of a row without a head: the demo badge, and the tools on hover or focus. */
function corner(row, tools) {
  if (tools === nothing) return nothing;
  return html`${row.entry.demo ? html`<div class="entry-badge">${demoBadge()}</div>` : nothing}
    <div class="entry-corner">${tools}</div>`;
}

function headOf(row, context, tools) {
  const author = authorOf(row, context);
  const at = row.entry?.at ?? row.entries?.[0].at;
  return html`<div class="entry-head"><b><bdi>${visible(author.name)}</bdi></b>
    ${author.kind === "agent" ? html`<span class="badge">Agent</span>` : nothing}
    ${author.kind === "agent" && context.demo ? demoBadge() : nothing}
    ${author.kind === "agent" && !context.demo && context.model ? html`<span class="meta">${context.model}</span>` : nothing}
    ${at ? html`<time datetime=${at} title=${fullDate(at)}>${timeOfDay(at)}</time>` : nothing}
    ${tools === nothing ? nothing : html`<span class="tools">${tools}</span>`}</div>`;
}

function authorOf(row, { agent, me, members }) {
  if (row.kind === "pending") return me;
  if (row.kind !== "person") return agent;
  const { author_id: id, author_name: name } = row.entry;
  return members.get(id) ?? { id: id || name, name: name || "Somebody", kind: "human" };
}

function demoBadge() {
  return html`<span class="badge badge-wait" title="From a script, not from a language model">Demo</span>`;
}

function copyText(label, text) {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label=${label} title=${label}
    @click=${(event) => copyFrom(event.currentTarget, text)}>${icon("copy")}</button>`;
}

function toolButton(label, picture, onClick) {
  return html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label=${label} title=${label} @click=${onClick}>${icon(picture)}</button>`;
}

/** What a person can do with an answer of the agent. */
function answerTools({ entry: it }, { acts, mayWrite }) {
  return html`${copyText("Copy answer", it.text)}${mayWrite ? html`${toolButton("Try again", "rotate-ccw", () => acts.goBack("tryAgain", it))}${
    toolButton("Fork from here", "git-branch", () => acts.goBack("fork", it))}` : nothing}`;
}

/** What a person can do with a message; only its author can change it. */
function messageTools({ entry: it }, { acts, mayWrite, me }) {
  const mine = mayWrite && it.author_id === me?.id && it.trigger === "chat_message";
  return html`${copyText("Copy message", it.text)}${mine ? toolButton("Edit and go on from here", "pencil", () => acts.goBack("editMessage", it)) : nothing}`;
}

/** A text of the log without hidden signs; a template is shown as it is. */
const readable = (words) => (typeof words === "string" ? visible(words) : words);

function slim(row, context, { icon: name, fact, facts = nothing, classes = "" }) {
  const body = html`<div class="tool-slim"><span>${readable(fact)}</span><span class="facts">${facts}</span></div>`;
  return entry(row, context, { node: icon(name), body, classes });
}

function notice({ tone, icon: name, fact, more }, action = nothing) {
  return html`<div class="notice ${tone ? `notice-${tone}` : ""}">${icon(name)}
    <div><b>${visible(fact)}</b> ${typeof more === "string" ? visible(more) : (more ?? nothing)}</div>${action}</div>`;
}

// --- people and the agent's words -----------------------------------------------------------------

function person(row, context) {
  const { text, at, effort } = row.entry;
  const label = `${authorOf(row, context).name}, ${timeOfDay(at)}`;
  const hint = effort && effort !== "standard" ? html`<p class="hint">${icon("gauge", "icon-s inl")} ${EFFORTS.get(effort) ?? effort}</p>` : nothing;
  return entry(row, context, {
    classes: "is-person", label, tools: messageTools(row, context), body: html`<div class="bubble" dir="auto">${readableProse(text)}</div>${attached(row.entry, context)}${hint}`,
  });
}

/** The files that go with a message, each as a download. */
function attached({ attachments }, { api }) {
  if (!attachments?.length) return nothing;
  return html`<ul class="chips attached" aria-label="Attached files">${attachments.map((path) => html`<li><a class="chip" download
    title="Download ${visible(path)}" href="${api}files/content/?path=${encodeURIComponent(path)}">${icon("file", "icon-s")}<bdi>${visible(path)}</bdi></a></li>`)}</ul>`;
}

function pending(row, context) {
  const { text, acked } = row.entry;
  return entry(row, context, {
    classes: "is-person",
    label: "Your message, being sent",
    body: html`<div class="bubble is-queued" dir="auto">${readableProse(text)}</div>${attached(row.entry, context)}
      <p class="hint">${icon("clock", "icon-s inl")} ${acked ? "Stored" : "Sending…"}</p>`,
  });
}

function said(row, context) {
  const { text, at, truncated } = row.entry;
  const tools = row.live ? nothing : answerTools(row, context);
  return entry(row, context, {
    classes: row.live ? "is-prose is-live" : "is-prose",
    node: row.live && !row.head ? icon("loader-circle", "spin c-accent") : nothing,
    label: row.live ? `${context.agent.name} is writing` : `${context.agent.name}, ${timeOfDay(at)}`,
    tools,
    body: html`<div class="prose ${row.live ? "is-writing" : ""}">${context.prose(row.key, text, !row.live)}</div>
      ${truncated ? html`<p class="hint">Cut off at the output limit of the model, which was asked to continue.</p>` : nothing}`,
  });
}

function thought(row, context) {
  const { text, seconds, redacted } = row.entry;
  const title = row.live ? "Thinking" : seconds ? `Thought for ${duration(seconds)}` : "Thought";
  const open = context.isOpen(row);
  const words = redacted && !text ? "The provider does not show this thought." : text;
  return entry(row, context, {
    classes: row.live ? "is-live" : "",
    node: row.live ? icon("loader-circle", "spin c-accent") : icon("brain"),
    body: fold(row.key, title, open, context, () => html`<div class="thought" dir="auto">${readableProse(words)}</div>`),
  });
}

function fold(key, title, open, { onToggle }, body) {
  return html`<details class="slim-fold" ?open=${open}>
    <summary class="tool-slim" @click=${(event) => {
      event.preventDefault();
      onToggle(key, !open);
    }}><span>${readable(title)}</span>${icon("chevron-right", "icon-s turns")}</summary>
    ${open ? body() : nothing}</details>`;
}

function discarded(row, context) {
  const why = row.entry.cause === "cancelled" ? "Cut off here. The model does not see this text."
    : "The answer was cut off here, so the model was asked again.";
  return entry(row, context, {
    classes: "is-prose is-discarded",
    body: html`<div class="prose">${context.prose(row.key, row.entry.text, true)}</div><p class="hint">${why}</p>`,
  });
}

// --- work -----------------------------------------------------------------------------------------

function tool(row, context) {
  const { entry: call } = row;
  return entry(row, context, {
    node: icon(toolOf(call).icon),
    classes: call.state === "running" ? "is-live" : "",
    body: toolCard(call, cardContext(context, context.isOpen(row))),
  });
}

function ask(row, context) {
  const { ask: asked } = row.entry;
  const mayDecide = Boolean(asked.kind === "question" ? context.mayWrite : context.mayApprove);
  const body = context.asks?.card(asked, { base: context.api, agent: context.agent.name, mayDecide }) ?? nothing;
  return entry(row, context, { node: icon("hand"), classes: "has-ask", body });
}

function cardContext({ agent, api, onToggle }, open) {
  return { agent: agent.name, api, open, onToggle };
}

function group(row, context) {
  const open = context.isOpen(row);
  const cards = () => html`<div class="sub-flow">${row.entries.map((call) => toolCard(
    call, cardContext(context, context.isOpen({ key: call.key, kind: "tool", entry: call })),
  ))}</div>`;
  return entry(row, context, {
    node: icon("file-search"), body: fold(row.key, groupInWords(row.entries), open, context, cards),
  });
}

function retry(row, context) {
  const { over, at, wait_seconds: wait, cause, attempt } = row.entry;
  if (over) return slim(row, context, { icon: "rotate-ccw", fact: retryInWords(row.entry) });
  return entry(row, context, {
    node: icon("rotate-ccw"),
    body: notice({
      tone: "accent", icon: "rotate-ccw", fact: `The model did not answer (${cause}).`,
      more: html`Asking again in <paca-until at=${at} seconds=${wait}></paca-until>, attempt ${attempt + 1}.`,
    }),
  });
}

function now(row, context) {
  return entry(row, context, {
    classes: row.still ? "" : "is-live",
    node: row.still ? icon("clock") : icon("loader-circle", "spin c-accent"),
    body: html`<div class="tool-slim"><span>${visible(row.activity)}${
      row.since ? html` · <paca-since class="num" at=${row.since}></paca-since>` : nothing}</span></div>`,
  });
}

// --- notes and turn ends ------------------------------------------------------------------------

const ENDS = new Map(Object.entries({
  finished: ["circle-check", "Done"], paused: ["pause", "Paused"], stopped: ["circle-stop", "Stopped"],
  failed: ["circle-x", "Failed"],
}));

const CUT_SHORT = new Map([["interrupted", "Interrupted"], ["forked", "Forked"]]);

function turn(row, context) {
  const { status, steps: count, seconds, usage, reason } = row.entry;
  const [name, word] = ENDS.get(status) ?? ["circle-help", status];
  const facts = [
    CUT_SHORT.get(reason) ?? word,
    count ? steps(count) : "",
    seconds ? spent(seconds) : "",
    usage ? tokensInWords(usage) : "",
    usage && !context.demo ? costInWords(usage) : "",
  ].filter(Boolean).join(" · ");
  return slim(row, context, { icon: name, fact: html`<span class="turn-end num">${facts}</span>`, classes: "is-end" });
}

const spent = (seconds) => (seconds < 60 ? duration(seconds) : clock(seconds));


function note(row, context) {
  const words = noteInWords(row.entry, { agent: context.agent.name });
  if (!words) return unknown(row, context);
  if (words.look === "fold") {
    const told = () => html`<div class="thought" dir="auto">${readableProse(words.told)}</div>`;
    return entry(row, context, {
      node: icon(words.icon), body: fold(row.key, words.fact, context.isOpen(row), context, told),
    });
  }
  if (words.look === "opening") return openingDivider(row, words, context);
  if (words.look === "slim") {
    const facts = words.facts?.seconds ? duration(words.facts.seconds) : nothing;
    return slim(row, context, { ...words, facts });
  }
  const action = row.current && context.mayWrite ? continueButtons(row, context) : nothing;
  if (words.look === "divider") {
    const url = words.conversation && context.conversationUrl(words.conversation);
    const origin = url ? html`<a class="link" href=${url}>Open it</a>` : url === false ? "It was deleted" : nothing;
    return html`<div class="divider" data-key=${row.key}><span>${visible(words.fact)}</span>${origin}${action}</div>`;
  }
  return entry(row, context, { classes: "has-notice", node: icon(words.icon), body: notice(words, action) });
}

/** A divider that opens: the summary that the model reads in place of what is above it. */
function openingDivider(row, { fact, told, carried }, context) {
  const open = context.isOpen(row);
  return html`<details class="divider-fold" data-key=${row.key} ?open=${open}>
    <summary class="divider" @click=${(event) => {
      event.preventDefault();
      context.onToggle(row.key, !open);
    }}><span class="num">${visible(fact)} ${icon("chevron-right", "icon-s turns")}</span></summary>
    ${open ? html`<div class="prose">${context.prose(row.key, told, true)}</div>
      ${carried ? html`<div class="thought" dir="auto">${readableProse(carried)}</div>` : nothing}` : nothing}</details>`;
}

function continueButtons(row, context) {
  const { data } = row.entry;
  const settings = data.code === "configuration" && context.settingsUrl;
  const parked = data.reason === "parked";
  return html`<span class="notice-acts">
    ${settings ? html`<a class="btn btn-s" href=${context.settingsUrl}>Open settings</a>` : nothing}
    <button type="button" class="btn btn-s" @click=${context.acts.resume}>${resumeLabel(row.entry)}</button>
    ${parked ? html`<button type="button" class="btn btn-s" @click=${context.acts.stop}>Stop</button>` : nothing}</span>`;
}

function unknown(row, context) {
  const { type, data, at } = row.entry;
  const body = () => html`<pre tabindex="0" role="group" aria-label="Facts">${visible(JSON.stringify(data, null, 2))}</pre>`;
  return entry(row, context, {
    node: icon("circle-help"),
    body: fold(row.key, html`<code>${visible(type)}</code> ${at ? timeOfDay(at) : ""}`, context.isOpen(row), context, body),
  });
}

/** A finished row in one sentence, for screen readers; empty if it says nothing new. */
export function sentenceOf(row, agent) {
  try {
    return sentence(row, agent);
  } catch {
    return ""; // the row is shown as plain text
  }
}

function sentence(row, agent) {
  const { entry: it } = row;
  if (row.kind === "said" && !row.live) return `${agent}: ${firstParagraph(it.text)}`;
  if (row.kind === "tool" && it.returnedAt) return `${agent}: ${it.tool} ${outcome(it).text || "finished"}`;
  if (row.kind === "ask") return `${agent} needs you: ${it.ask.text || it.ask.title || it.ask.subject || it.ask.tool}`;
  if (row.kind === "note") {
    const words = noteInWords(it, { agent });
    return words && words.look !== "slim" ? `${words.fact} ${words.more ?? ""}`.trim() : "";
  }
  return "";
}

function firstParagraph(text) {
  return text.trim().split(/\n\s*\n/)[0].replace(/[#*`_>\s]+/g, " ").trim().slice(0, 200);
}
