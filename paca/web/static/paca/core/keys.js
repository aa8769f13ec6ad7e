// The keyboard: one table, which also writes the sheet that "?" opens.

import { html, render } from "../../vendor/lit-html/lit-html.js";
import { iconButton } from "./icons.js";

const GO_MS = 1200;
const OFF = "single-keys-off";

const table = []; // {group, keys: ["g", "a"], label, act(event), typing?: true}
let began = { key: "", at: 0 };

/**
 * Add keys to the table. `keys` is one name as in KeyboardEvent.key, or two in a row. `act` may
 * return false for "not now": the key then means what comes next, and at last what the browser makes of it. A key without `act` is
 * handled elsewhere and only stands in the sheet.
 */
export function keys(group, entries) {
  for (const [names, label, act] of entries) table.push({ group, keys: names.split(" "), label, act });
}

export function listen() {
  addEventListener("keydown", pressed);
}

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    // Esc leaves the field first; what it would do on the page is the next press.
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key.length === 1 && singleKeysOff()) return;
  for (const { act } of matching(event.key)) {
    if (act(event) === false) continue;
    event.preventDefault();
    return;
  }
}

/** What a key may mean, the second of two in a row before a single one. */
function matching(key) {
  const now = Date.now();
  const first = now - began.at < GO_MS ? began.key : "";
  const acting = table.filter(({ act }) => act);
  const second = acting.filter(({ keys: [one, two] }) => one === first && two === key);
  began = { key: second.length ? "" : key, at: now };
  if (second.length) return second;
  return acting.filter(({ keys: [one, two] }) => !two && one.toLowerCase() === key.toLowerCase());
}

export function isTyping(element) {
  return Boolean(element.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]"));
}

// Speech input types letters: whoever uses it can switch single keys off (WCAG 2.1.4).
function singleKeysOff() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false;
  }
}

function setSingleKeys(on) {
  try {
    localStorage.setItem(OFF, on ? "no" : "yes");
  } catch {
    // Storage is forbidden here; the keys stay as they are.
  }
}

// --- the sheet ------------------------------------------------------------------------------------

const NAMES = { Escape: "Esc", Enter: "↵", ArrowUp: "↑", ArrowDown: "↓" };

export function openSheet() {
  let dialog = document.getElementById("keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.className = "dialog dialog-keys";
    dialog.setAttribute("aria-labelledby", "keys-title");
    document.body.append(dialog);
  }
  render(sheet(() => dialog.close()), dialog);
  dialog.showModal();
}

export function sheet(close) {
  const groups = [...new Set(table.map(({ group }) => group))];
  return html`<div class="dialog-body">
    <header class="row"><h2 id="keys-title">Keyboard</h2><span class="push">${iconButton("x", "Close", close)}</span></header>
    ${groups.map((group) => html`<section><h3 class="sec-l small muted">${group}</h3><dl class="keys">${table
      .filter((entry) => entry.group === group)
      .map(({ keys: names, label }) => html`<div><dt>${names.map((name) => html`<kbd>${shown(name)}</kbd>`)}</dt><dd>${label}</dd></div>`)}
      </dl></section>`)}
    <label class="switch"><input type="checkbox" role="switch" ?checked=${!singleKeysOff()}
      @change=${({ target }) => setSingleKeys(target.checked)}>Single letters act as shortcuts</label>
  </div>`;
}

function shown(name) {
  return NAMES[name] ?? (name.length === 1 ? name.toUpperCase() : name);
}
