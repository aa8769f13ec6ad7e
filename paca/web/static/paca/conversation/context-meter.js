// How full the model's window is, as the server tells it: a ring in the top bar, and what fills it.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";

const PARTS = [
  ["system", "Instructions"], ["tools", "Tools"], ["messages", "Messages"], ["results", "Results of tools"],
];
const NEARLY_FULL = 80; // percent
const FULL = 100;

/** The meter of `context` ({used, window, parts}); nothing before the first answer of the model. */
export function contextMeter(context) {
  if (!context) return nothing;
  const percent = percentOf(context);
  return html`<details class="context-meter" @keydown=${closeByEscape} @focusout=${closeAfterwards}>
    <summary class="btn btn-quiet btn-s" aria-label=${inWords(context)} title=${inWords(context)}>
      ${percent == null ? nothing : ring(percent)}
      <span class="num ${percent == null ? "" : "desk-only"}">${percent == null ? short(context.used) : `${percent} %`}</span></summary>
    <div class="popup"><p class="meter-row"><span>Context</span><b>${inNumbers(context)}</b></p>
      ${percent == null ? nothing : bar(percent)}
      <dl>${PARTS.map(([name, label]) => html`<div class="meter-row"><dt>${label}</dt><dd class="num">${count(context.parts[name] ?? 0)}</dd></div>`)}</dl>
    </div></details>`;
}

/** How full the window is, in percent; null if the window is unknown. */
export function percentOf({ used, window }) {
  return window ? Math.round((100 * used) / window) : null;
}

/** "Context: 41 %, 82,000 of 200,000 tokens", for the button. */
export function inWords(context) {
  const percent = percentOf(context);
  return `Context: ${percent == null ? "" : `${percent} %, `}${inNumbers(context)}`;
}

function inNumbers({ used, window }) {
  return window ? `${count(used)} of ${count(window)} tokens` : `${count(used)} tokens`;
}

function count(tokens) {
  return tokens.toLocaleString("en");
}

/** "82k". */
function short(tokens) {
  return tokens < 1000 ? `${tokens}` : `${Math.round(tokens / 1000)}k`;
}

function tone(percent) {
  if (percent >= FULL) return "is-full";
  return percent >= NEARLY_FULL ? "is-nearly-full" : "";
}

function ring(percent) {
  const shown = Math.min(percent, FULL);
  return html`<svg class="ring ${tone(percent)}" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"></circle>${
    svg`<circle class="v" cx="8" cy="8" r="6" pathLength="100" stroke-dasharray="${shown} 100"></circle>`}</svg>`;
}

function bar(percent) {
  const shown = Math.min(percent, FULL);
  return html`<svg class="bar ${tone(percent)}" viewBox="0 0 100 5" preserveAspectRatio="none" role="meter" aria-label="Context used"
    aria-valuenow=${shown} aria-valuemin="0" aria-valuemax="100">${svg`<rect width=${shown} height="5"></rect>`}</svg>`;
}

// Esc closes the list and does not stop the agent as well.
function closeByEscape(event) {
  if (event.key !== "Escape" || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary").focus();
  event.stopPropagation();
}

function closeAfterwards({ currentTarget, relatedTarget }) {
  if (!currentTarget.contains(relatedTarget)) currentTarget.open = false;
}
