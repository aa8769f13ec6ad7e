// The calls of a conversation in time, turn by turn: a line and a bar for each.
// Lengths are attributes of shapes: the page's policy forbids inline styles.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { duration, timeOfDay } from "../core/time.js";
import { addUsage, costInWords, emptyUsage, tokensInWords } from "../conversation/usage.js";
import { callDetail } from "./call-detail.js";

const WIDTH = 1000;
const LEAST = 3; // so that a short call is seen
const PURPOSES = new Map([["compaction", "summary"], ["title", "title"], ["memory", "memory"], ["helper", "helper"]]);

/** "3 model calls, 5 tool calls · 12,400 tokens · $0.38". */
export function total(calls) {
  const models = calls.filter(({ kind }) => kind === "model");
  const usage = models.map(usageOf).reduce(addUsage, emptyUsage());
  const tools = calls.length - models.length;
  return [
    `${models.length} model ${models.length === 1 ? "call" : "calls"}, ${tools} tool ${tools === 1 ? "call" : "calls"}`,
    tokensInWords(usage), costInWords(usage),
  ].filter(Boolean).join(" · ");
}

/** The turns of the window's calls. */
export function waterfall(shown) {
  const turns = byTurn(shown.calls);
  return [...turns].map(([number, calls]) => {
    const start = Math.min(...calls.map(({ started_at: at }) => Date.parse(at)));
    const end = Math.max(...calls.map((each) => Date.parse(each.started_at) + 1000 * (each.seconds ?? 0)));
    const scale = WIDTH / Math.max(end - start, 1);
    return html`<section class="trace-turn" aria-label="Turn ${number}"><h3>Turn ${number} <span class="num sub">${timeOfDay(calls[0].started_at)} · ${duration((end - start) / 1000)}</span></h3>
      <ol class="trace-calls">${repeat(calls, (each) => each.call_id, (each) => line(each, { shown, start, scale }))}</ol></section>`;
  });
}

function byTurn(calls) {
  const turns = new Map();
  for (const each of calls) turns.set(each.turn, [...(turns.get(each.turn) ?? []), each]);
  return turns;
}

function line(each, { shown, start, scale }) {
  const isOpen = shown.open.has(each.call_id);
  const isModel = each.kind === "model";
  const bad = ["failed", "unknown", "abandoned", "cancelled"].includes(each.status);
  const name = isModel ? each.name.replace(/^[^/]*\//, "") : each.name;
  const marks = [
    isModel && PURPOSES.get(each.purpose), each.attempt > 1 && `attempt ${each.attempt}`, bad && each.status,
  ].filter(Boolean);
  return html`<li class=${bad ? "is-failed" : ""}><button type="button" class="trace-call" aria-expanded=${isOpen} @click=${() => shown.toggle(each.call_id)}>
    <span class="trace-name">${icon(isModel ? "sparkles" : "terminal")}<bdi>${visible(name)}</bdi>${marks.map((mark) => html`<span class="badge badge-line">${mark}</span>`)}</span>
    <svg class="trace-bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">${bars(each, start, scale)}</svg>
    <span class="trace-facts num"><span>${each.seconds == null ? "runs" : duration(each.seconds)}</span>${isModel ? html`<span>${tokensInWords(usageOf(each))}</span><span>${costInWords(addUsage(emptyUsage(), usageOf(each)))}</span>` : nothing}</span></button>
    ${isOpen ? callDetail(each, shown.open.get(each.call_id)) : nothing}</li>`;
}

/** The time until the first token, or until a tool could run, is lighter than the work itself. */
function bars(each, start, scale) {
  const from = (Date.parse(each.started_at) - start) * scale;
  const whole = Math.max((each.seconds ?? 0) * 1000 * scale, LEAST);
  const waited = each.kind === "model" ? each.trace?.first_token_seconds ?? each.trace?.first_byte_seconds : each.waited_seconds;
  const light = Math.min((waited ?? 0) * 1000 * scale, whole);
  const left = Math.min(from, WIDTH - LEAST);
  const kind = each.kind === "model" ? "is-model" : "is-tool";
  return svg`<rect class="trace-part ${kind} is-waiting" x=${left.toFixed(1)} y="3" width=${whole.toFixed(1)} height="10"></rect>
    <rect class="trace-part ${kind}" x=${(left + light).toFixed(1)} y="3" width=${Math.max(whole - light, 1).toFixed(1)} height="10"></rect>`;
}

const usageOf = ({ tokens, cost_usd: cost }) => ({ ...tokens, cost_usd: cost });
