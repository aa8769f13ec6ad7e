// Shows a tree: only the rows in sight are in the document and only their pages are loaded, so ten thousand files cost no
// more than thirty.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";
import { PAGE, ROOT } from "./tree.js";

const AROUND = 12; // rows before and after those in sight
const AHEAD = 150; // rows that are loaded before they come in sight
const TYPED_MS = 700;
const ICONS = new Map([["folder", "folder"], ["link", "link"], ["other", "plug"]]);

export class TreeView {
  #panel;
  #active = ""; // the path that the keyboard is at
  #typed = { text: "", at: 0 };
  #height = 28;
  #sight = [0, 0]; // the first row that is in the document, and the one after the last

  /** `panel` has the `tree`, `openFolder(path)`, `openFile(path)`, `loadAll()` and `update()`. */
  constructor(panel) {
    this.#panel = panel;
  }

  /** The pages of loaded folders in sight, as {folder, offset}; with `missing` only those that are not loaded, and those that come next. */
  pages(missing = false) {
    const [first, last] = this.#sight;
    const ahead = missing ? AHEAD : 0;
    const found = new Map();
    const look = (row) => {
      if (row.note || (missing && !row.missing)) return;
      const offset = row.index - (row.index % PAGE);
      found.set(`${offset} ${row.folder}`, { folder: row.folder, offset });
    };
    this.#rows.slice(first, last).forEach(look);
    this.#rows.slice(Math.max(0, first - ahead), last + ahead).forEach(look);
    return [...found.values()];
  }

  get #rows() {
    return this.#panel.tree.rows;
  }

  template(selected) {
    const rows = this.#rows;
    const scroller = this.#panel.querySelector(".tree");
    const first = Math.max(0, Math.floor((scroller?.scrollTop ?? 0) / this.#height) - AROUND);
    const count = Math.ceil((scroller?.clientHeight || 600) / this.#height) + 2 * AROUND;
    this.gaps = [first, Math.max(0, rows.length - first - count)];
    this.#sight = [first, first + count];
    this.#active = this.#panel.tree.resolved(this.#active);
    const active = rows.findIndex((row) => row.path === this.#active);
    return html`<div class="tree" role="tree" tabindex="0" aria-label="Files of the sandbox"
      aria-activedescendant=${active >= first && active < first + count ? `file-${active}` : nothing}
      @scroll=${() => this.#panel.update()} @keydown=${this.#pressed}>
      <div class="tree-gap" role="none"></div>
      ${rows.slice(first, first + count).map((row, index) => this.#row(row, first + index, selected))}
      <div class="tree-gap" role="none"></div></div>`;
  }

  #row(row, index, selected) {
    if (row.note) return html`<div class="tree-note" role="none" data-level=${row.level}>${row.note}</div>`;
    if (row.missing) {
      return html`<div class="tree-row is-missing ${row.path === this.#active ? "is-active" : ""}" role="treeitem" data-level=${row.level} id="file-${index}"
        aria-level=${row.level} aria-posinset=${row.index + 1} aria-setsize=${row.of} aria-busy="true"><span class="tree-pad"></span><span class="tree-name">…</span></div>`;
    }
    const isFolder = row.kind === "folder";
    return html`<div class="tree-row ${row.path === this.#active ? "is-active" : ""}" role="treeitem" data-level=${row.level} id="file-${index}"
      aria-level=${row.level} aria-posinset=${row.index + 1} aria-setsize=${row.of} aria-selected=${row.path === selected}
      aria-expanded=${isFolder ? row.open : nothing} title=${visible(row.name)} @click=${() => this.#act(row)}>
      ${isFolder ? icon(row.open ? "chevron-down" : "chevron-right", "icon-s") : html`<span class="tree-pad"></span>`}
      ${icon(ICONS.get(row.kind) ?? "file", "icon-s")}<span class="tree-name"><bdi>${visible(row.name)}</bdi></span>${
        row.kind === "file" ? html`<span class="tree-size num">${sizeInWords(row.size)}</span>` : nothing}</div>`;
  }

  /** Give the gaps the height of the rows that they stand for. A style attribute would need a weaker policy. */
  rendered() {
    const scroller = this.#panel.querySelector(".tree");
    if (!scroller) return;
    const height = scroller.querySelector(".tree-row")?.offsetHeight;
    if (height && height !== this.#height) {
      this.#height = height;
      this.#panel.update();
    }
    for (const row of scroller.querySelectorAll("[data-level]")) row.style.setProperty("--level", Math.min(row.dataset.level, 9) - 1);
    scroller.querySelectorAll(".tree-gap").forEach((gap, index) => {
      gap.style.height = `${this.gaps[index] * this.#height}px`;
    });
  }

  #act(row) {
    if (row.missing) return;
    this.#active = row.path;
    if (row.kind === "folder") this.#panel.openFolder(row.path, !row.open);
    else this.#panel.openFile(row.path);
  }

  #pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const entries = this.#rows.map((row, index) => ({ row, index })).filter(({ row }) => !row.note);
    if (!entries.length) return;
    const at = entries.findIndex(({ row }) => row.path === this.#active);
    const row = entries[at]?.row;
    const page = Math.max(1, Math.floor(event.currentTarget.clientHeight / this.#height) - 1);
    const moves = new Map([
      ["ArrowDown", at + 1], ["ArrowUp", at - 1], ["Home", 0], ["End", entries.length - 1], ["PageDown", at + page], ["PageUp", at - page],
    ]);
    if (moves.has(event.key)) this.#move(entries, moves.get(event.key));
    else if (event.key === "Enter" || event.key === " ") row && this.#act(row);
    else if (event.key === "ArrowRight" && row?.kind === "folder") {
      if (row.open) this.#move(entries, at + 1);
      else this.#panel.openFolder(row.path, true);
    } else if (event.key === "ArrowLeft" && row) {
      if (row.open) this.#panel.openFolder(row.path, false);
      else if (row.folder !== ROOT) this.#move(entries, entries.findIndex((each) => each.row.path === row.folder));
    } else if (event.key.length === 1) this.#type(event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #move(entries, wanted) {
    const { row, index } = entries[Math.min(entries.length - 1, Math.max(0, wanted))];
    this.#active = row.path;
    const scroller = this.#panel.querySelector(".tree");
    const top = index * this.#height;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + this.#height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + this.#height - scroller.clientHeight;
    this.#panel.update();
  }

  /** Go to the next entry whose name begins with what is typed, also if it was not loaded yet. */
  async #type({ key, timeStamp }) {
    const isNew = timeStamp - this.#typed.at > TYPED_MS;
    this.#typed = { text: (isNew ? "" : this.#typed.text) + key.toLowerCase(), at: timeStamp };
    const typed = this.#typed;
    if (this.#rows.some(({ missing }) => missing)) await this.#panel.loadAll();
    if (this.#typed !== typed) return; // more was typed meanwhile
    const entries = this.#rows.map((row, index) => ({ row, index })).filter(({ row }) => row.name);
    const at = entries.findIndex(({ row }) => row.path === this.#active);
    const from = at + (isNew ? 1 : 0);
    const found = [...entries.keys()].map((index) => (index + Math.max(0, from)) % entries.length)
      .find((index) => entries[index].row.name.toLowerCase().startsWith(typed.text));
    if (found !== undefined) this.#move(entries, found);
  }
}
