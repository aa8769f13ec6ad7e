// Keyboard shortcuts: one table, which is also the content of the dialog that "?" opens.

import { html, render } from "../../vendor/lit-html/lit-html.js";
import { iconButton } from "./icons.js";

const GO_MS = 1200;
const OFF = "single-keys-off";

const table = []; // {group, keys: ["g", "a"], label, act(event), typing?: true}
let began = { key: "", at: 0 };

/**
 * Add shortcuts. `keys` is a name as in KeyboardEvent.key, or two in a row. If `act` returns false, the
 * next shortcut with that key gets it, and at last the browser. A shortcut without `act` is handled
 * elsewhere and only listed in the dialog.
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
    // The first Esc leaves the field; the next one acts on the page.
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

/** The shortcuts of a key: as the second of two in a row first, then as a single one. */
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

// Speech input types letters, so single-letter shortcuts can be switched off (WCAG 2.1.4).
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
    // The browser forbids storage; the setting lasts for this page only.
  }
}

// --- the dialog -----------------------------------------------------------------------------------

const NAMES = new Map([["Escape", "Esc"], ["Enter", "↵"], ["ArrowUp", "↑"], ["ArrowDown", "↓"]]);

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
  return NAMES.get(name) ?? (name.length === 1 ? name.toUpperCase() : name);
}
