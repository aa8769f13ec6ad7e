// Keyboard shortcuts: one table, which is also the content of the dialog that "?" opens.

import { html, render } from "../../vendor/lit-html/lit-html.js";
import { iconButton } from "./icons.js";

const GO_MS = 1200;
// Letters that follow one another faster than this are words and no shortcuts. The time is that of the press: a busy
// page hears of it later.
const WORDS_MS = 300;
const OFF = "single-keys-off";

const MOVES = new Set(["j", "k"]);
const table = []; // {group, keys: ["g", "a"], label, act(event), typing?: true}
let patient = null; // {timer}: a shortcut that acts if no word follows
let typed = { text: "", at: -Infinity };
let began = { key: "", at: -Infinity };

/**
 * Add shortcuts. `keys` is a name as in KeyboardEvent.key, or two in a row. If `act` returns false, the
 * next shortcut with that key gets it, and at last the browser. A shortcut without `act` is handled
 * elsewhere and only listed in the dialog. One that `waits` acts only if no word follows its letter.
 */
export function keys(group, entries) {
  for (const [names, label, act, waits = false] of entries) table.push({ group, keys: names.split(" "), label, act, waits });
}

export function listen() {
  addEventListener("keydown", pressed);
}

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.isComposing || event.keyCode === 229) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    // The first Esc leaves the field; the next one acts on the page.
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key.length === 1 && singleKeysOff()) return;
  const found = matching(event);
  if (isWord(event, found)) {
    event.preventDefault();
    return;
  }
  // What leaves the page or changes all of it waits until it is clear that no word is being typed.
  if (found.some(({ waits }) => waits) && composer()) {
    event.preventDefault();
    patient = setTimeout(() => run(found, event), WORDS_MS);
  } else if (run(found, event)) {
    event.preventDefault();
  }
}

function run(found, event) {
  patient = null;
  return found.some(({ act }) => act(event) !== false);
}

/** The field of the page that takes the words of somebody who types without looking. */
function composer() {
  return document.querySelector(".composer textarea");
}

/** Whether the key goes on with a word; then the word is in the composer. */
function isWord({ key, timeStamp: now }, found) {
  const before = now - typed.at < WORDS_MS ? typed.text : "";
  const second = found.some(({ keys: names }) => names.length > 1);
  const scrolls = key === " " && (!before || MOVES.has(before)); // after another letter it is part of the words
  typed = { text: key.length === 1 && !scrolls && !second ? key : "", at: now };
  const field = composer();
  if (!before || !typed.text || second || (MOVES.has(before) && MOVES.has(key)) || !field) return false;
  clearTimeout(patient);
  patient = null;
  typed = { text: "", at: 0 };
  field.focus();
  field.setRangeText(before + key, field.value.length, field.value.length, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}

/** The shortcuts of a key: as the second of two in a row first, then as a single one. */
function matching({ key, timeStamp: now }) {
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
