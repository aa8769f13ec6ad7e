// The search palette (Ctrl+K): finds tasks, docs, comments and conversations, goes to pages, and runs commands.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call } from "./api.js";
import { icon } from "./icons.js";
import { visible } from "./terminal.js";

const TYPING_MS = 160;
const KINDS = new Map([
  ["task", ["square-kanban", "Task"]], ["doc", ["file-text", "Doc"]], ["comment", ["message-square", "Comment"]], ["conversation", ["messages-square", "Conversation"]],
]);

// What the page offers by a menu or a button: the palette presses it.
const COMMANDS = ".topbar [role^=menuitem]:not([aria-disabled]), [data-theme-toggle], [data-keys]";

function commandsOfPage() {
  return [...document.querySelectorAll(COMMANDS)].map((element) => ({
    label: element.getAttribute("aria-label") ?? wordsOf(element), icon: "zap", kind: "Command", press: () => element.click(),
  }));
}

/** The words of a menu's item, without its key or size. */
function wordsOf(element) {
  const copy = element.cloneNode(true);
  for (const beside of copy.querySelectorAll(".sub")) beside.remove();
  return copy.textContent.trim();
}

const fits = ({ label }, words) => label.toLowerCase().includes(words.trim().toLowerCase());

class Palette {
  #dialog = document.createElement("dialog");
  #api;
  #pages;
  #results = [];
  #index = 0;
  #words = "";
  #foundFor = ""; // the words that the results belong to
  #isWanted = false; // Enter was pressed before the results of the words were there
  #note = "";
  #timer = 0;
  #search = 0;

  /** `api` is the address of the search; `pages` are [{label, href, icon}]. */
  constructor(api, pages) {
    this.#api = api;
    this.#pages = pages;
    this.#dialog.className = "dialog palette";
    this.#dialog.setAttribute("aria-label", "Search and go to");
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog) this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => { this.#isWanted = false; });
    document.body.append(this.#dialog);
  }

  open() {
    if (this.#dialog.open) return;
    this.#find(this.#words);
    this.#dialog.showModal();
    this.#dialog.querySelector("input").select();
  }

  #typed(words) {
    this.#words = words;
    this.#search += 1; // what is being found belongs to older words
    this.#isWanted = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(words), TYPING_MS);
  }

  async #find(words) {
    const search = (this.#search += 1);
    const pages = this.#pages.filter((page) => fits(page, words));
    const commands = commandsOfPage().filter((command) => fits(command, words));
    let found = [];
    this.#note = "";
    if (words.trim()) {
      try {
        found = (await call("GET", `${this.#api}?q=${encodeURIComponent(words)}`)).results;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.#note = error.message;
      }
    }
    if (search !== this.#search) return; // a later search has begun
    this.#results = [...found.map((hit) => this.#itemOf(hit)), ...pages.map((page) => ({ ...page, kind: "Go to" })), ...commands];
    if (words.trim() && !this.#results.length && !this.#note) this.#note = `Nothing is found for “${words.trim()}”.`;
    this.#index = 0;
    this.#foundFor = words;
    this.#render();
    if (this.#isWanted) this.#choose(this.#results[0]);
    this.#isWanted = false;
  }

  #itemOf({ kind, url, title, snippet, key }) {
    const [name, word] = KINDS.get(kind) ?? ["file", kind];
    return { href: url, icon: name, kind: word, label: [key, title].filter(Boolean).join(" "), snippet };
  }

  #pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.#results.length) {
      event.preventDefault();
      this.#index = (this.#index + step + this.#results.length) % this.#results.length;
      this.#render();
      this.#dialog.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      this.#isWanted = this.#foundFor !== this.#words;
      if (!this.#isWanted) this.#choose(this.#results[this.#index]);
    }
  }

  #choose(chosen) {
    if (chosen?.href) location.assign(chosen.href);
    if (!chosen?.press) return;
    this.#dialog.close();
    // Found again by its words: the page may have made another command of the element meanwhile, or none.
    commandsOfPage().find(({ label }) => label === chosen.label)?.press();
  }

  /** A page is a link, so that it can be opened in another tab; a command is a button. */
  #option(item, index) {
    const inner = html`${icon(item.icon)}<span class="clip"><bdi>${visible(item.label)}</bdi>${item.snippet?.length ? html`<small class="muted clip">${item.snippet.map(piece)}</small>` : nothing}</span><span class="sub">${item.kind}</span>`;
    const selected = index === this.#index ? "true" : "false";
    if (item.press) return html`<button type="button" class="menu-item is-tall" role="option" id="palette-${index}" tabindex="-1" aria-selected=${selected} @click=${() => this.#choose(item)}>${inner}</button>`;
    return html`<a class="menu-item is-tall" role="option" id="palette-${index}" tabindex="-1" href=${item.href} aria-selected=${selected}>${inner}</a>`;
  }

  #render() {
    const selected = this.#results.length ? `palette-${this.#index}` : nothing;
    render(html`<div class="palette-in"><div class="searchbox">${icon("search")}<input class="input" type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${selected}
        aria-label="Search" placeholder="Search, go to a page, or type a command" .value=${this.#words} @input=${({ target }) => this.#typed(target.value)} @keydown=${(event) => this.#pressed(event)}></div>
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Results">${this.#results.map((item, index) => this.#option(item, index))}</div>
      ${this.#note ? html`<p class="palette-note muted" role="status">${this.#note}</p>` : nothing}</div>`, this.#dialog);
  }
}

/** A piece of a snippet; a marked one is a word that was searched. */
function piece({ text, marked }) {
  return marked ? html`<mark>${visible(text)}</mark>` : visible(text);
}

let palette = null;

/** Open the palette of the page; `data` are the attributes of the app that the server wrote. */
export function openPalette(data) {
  palette ??= new Palette(data.search, JSON.parse(data.pages));
  palette.open();
}
