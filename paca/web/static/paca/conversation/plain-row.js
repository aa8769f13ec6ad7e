// A row as plain text, for one that its own template cannot render.

import { html } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../core/terminal.js";

const MAX_CHARACTERS = 100_000;

/** The text of the row, or its facts as JSON. It uses nothing that could fail for another row. */
export function plainRow(row) {
  const entry = row.entry ?? { entries: row.entries };
  const text = visible(typeof entry.text === "string" ? entry.text : facts(entry));
  return html`<article class="entry" data-key=${row.key} tabindex="-1" aria-label="Plain text">
    <p class="hint">Shown as plain text, because it could not be formatted.</p>
    <pre class="plain" dir="auto" tabindex="0" role="group" aria-label="Text">${text.slice(0, MAX_CHARACTERS)}</pre></article>`;
}

function facts(entry) {
  try {
    return JSON.stringify(entry, null, 2);
  } catch {
    return "It has no text that can be shown.";
  }
}
