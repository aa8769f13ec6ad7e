// What is in the chosen file: text with line numbers, Markdown, an image, or what kind of file it is.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { GrowingMarkdown } from "../core/markdown.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";

const FIRST_LINES = 1000;
const MARKDOWN = /\.(?:md|markdown)$/i;

export class Preview {
  #panel;
  #all = "";
  #source = "";
  #made = { found: null, nodes: [] };

  constructor(panel) {
    this.#panel = panel;
  }

  /** `found` is the answer of the API. */
  template(found) {
    if (found.kind === "image") return this.#image(found);
    if (found.kind === "binary") {
      return html`<p class="files-note">${icon("file")} ${found.type}, ${sizeInWords(found.size)}. It is not text, so it is not shown here.</p>`;
    }
    if (found.kind === "folder") return html`<p class="files-note">This is a folder.</p>`;
    if (!found.size) return html`<p class="files-note">The file is empty.</p>`;
    if (!MARKDOWN.test(found.path)) return this.#lines(found);
    const source = this.#source === found.path;
    return html`<div class="files-mode segmented" role="group" aria-label="Show as">${[["Text", false], ["Source", true]].map(
      ([label, value]) => html`<button type="button" aria-pressed=${source === value} @click=${() => this.#show(value ? found.path : "")}>${label}</button>`)}</div>
      ${source ? this.#lines(found) : html`<div class="prose files-prose">${this.#nodes(found)}</div>`}`;
  }

  #show(source) {
    this.#source = source;
    this.#panel.update();
  }

  #nodes(found) {
    if (this.#made.found !== found) this.#made = { found, nodes: new GrowingMarkdown().update(found.text, true) };
    return this.#made.nodes;
  }

  #image({ path, size, type }) {
    return html`<figure class="files-image"><img src=${this.#panel.contentUrl(path)} alt=${visible(path)}>
      <figcaption class="text-2">${type}, ${sizeInWords(size)}</figcaption></figure>`;
  }

  #lines(found) {
    const lines = found.text.replace(/\n$/, "").split("\n");
    const shown = this.#all === found.path ? lines : lines.slice(0, FIRST_LINES);
    const note = [found.encoding, found.cut ? `Only the beginning of ${sizeInWords(found.size)}` : ""].filter(Boolean).join(" · ");
    return html`<div class="diff" tabindex="0" role="group" aria-label="Content of ${visible(found.path)}"><div class="diff-in">${shown.map(
      (line, index) => html`<div><i>${index + 1}</i><b></b><span>${visible(line)}</span></div>`)}</div></div>
      ${shown.length < lines.length ? html`<button type="button" class="btn btn-s files-more" @click=${() => {
        this.#all = found.path;
        this.#panel.update();
      }}>Show all ${lines.length.toLocaleString("en")} lines</button>` : nothing}
      ${note ? html`<p class="files-note text-2">${note}</p>` : nothing}`;
  }
}
