// The meter of the model's window: a ring in the top bar, which opens a list of what fills the window.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { inNumbers, inWords, partsInWords, percentOf, short, toneOf } from "./context-size.js";

/** The meter of `context` ({used, window, parts}); nothing before the first answer of the model. */
export function contextMeter(context) {
  if (!context) return nothing;
  const percent = percentOf(context);
  const shown = percent == null ? null : Math.min(percent, 100);
  return html`<details class="context-meter" @keydown=${closeByEscape} @focusout=${closeAfterwards}>
    <summary class="btn btn-quiet btn-s" title=${inWords(context)}>
      ${shown == null ? nothing : ring(shown)}
      <span class="num ${shown == null ? "" : "desk-only"}">${short(context)}</span><span class="sr">${inWords(context)}</span></summary>
    <div class="popup"><p class="meter-row"><span>Context</span><b>${inNumbers(context)}</b></p>
      ${shown == null ? nothing : bar(shown)}
      <dl>${partsInWords(context).map(([label, tokens]) => html`<div class="meter-row"><dt>${label}</dt><dd class="num">${tokens}</dd></div>`)}</dl>
    </div></details>`;
}

function ring(percent) {
  return html`<svg class="ring ${toneOf(percent)}" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"></circle>${
    svg`<circle class="v" cx="8" cy="8" r="6" pathLength="100" stroke-dasharray="${percent} 100"></circle>`}</svg>`;
}

function bar(percent) {
  return html`<svg class="bar ${toneOf(percent)}" viewBox="0 0 100 5" preserveAspectRatio="none" role="meter" aria-label="Context used"
    aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100">${svg`<rect width=${percent} height="5"></rect>`}</svg>`;
}

// Esc closes the list and does not stop the agent as well.
function closeByEscape(event) {
  const meter = event.currentTarget;
  if (event.key !== "Escape" || !meter.open) return;
  meter.open = false;
  meter.querySelector("summary").focus();
  event.stopPropagation();
}

function closeAfterwards({ currentTarget, relatedTarget }) {
  if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
}
