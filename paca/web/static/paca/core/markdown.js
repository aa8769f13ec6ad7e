// Markdown to DOM, the only place where text becomes markup. marked parses and DOMPurify sanitises.

import { Marked } from "../../vendor/marked/marked.js";
import "../../vendor/dompurify/purify.js";
import { highlight } from "./highlight.js";
import { codeBlock } from "./code-block.js";
import { visible } from "./terminal.js";

const purify = globalThis.DOMPurify;

const ALLOWED = {
  ALLOWED_TAGS: [
    "p", "br", "hr", "h2", "h3", "h4", "strong", "em", "del", "code", "pre", "blockquote",
    "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "input",
  ],
  ALLOWED_ATTR: ["href", "title", "class", "start", "align", "type", "checked", "disabled"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ADD_URI_SAFE_ATTR: ["align", "start", "type", "checked", "disabled"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const escaped = (text) =>
  text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  renderer: {
    // HTML in the text of a model or a person is shown as text.
    html: ({ text }) => escaped(text),
    // An image would be fetched from any host that the text names. A link is fetched only on a click.
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    heading({ tokens, depth }) {
      // Headings of an answer are below the headings of the page.
      const level = Math.min(depth + 1, 4);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

/** The nodes of one block of Markdown, finished or growing. */
function nodesOf(token) {
  const fragment = purify.sanitize(marked.parser([token]), ALLOWED);
  for (const link of fragment.querySelectorAll("a")) guardLink(link);
  for (const box of fragment.querySelectorAll("input")) guardCheckbox(box);
  for (const table of fragment.querySelectorAll("table")) scrollable(table);
  for (const pre of fragment.querySelectorAll("pre")) pre.replaceWith(codeBlock(pre));
  return [...fragment.childNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE || node.data.trim());
}

function guardLink(link) {
  if (!link.hasAttribute("href")) return link.replaceWith(...link.childNodes);
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  // The author chooses the text of a link, so its target is shown as well.
  link.title = link.href;
  return undefined;
}

function guardCheckbox(box) {
  if (box.type !== "checkbox") return box.remove();
  box.disabled = true;
  box.className = "check";
  box.setAttribute("aria-label", box.checked ? "Done" : "Open");
  return undefined;
}

function scrollable(table) {
  const frame = document.createElement("div");
  frame.className = "prose-table";
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "Table");
  table.replaceWith(frame);
  frame.append(table);
}

/**
 * A text that grows at its end. Finished blocks are converted to nodes once. Only the last block is
 * converted again with each piece, so a long answer costs no more at its end than at its beginning.
 */
export class GrowingMarkdown {
  #frozenText = "";
  #frozen = [];
  #open = [];
  #openText = null;
  #done = false;

  /** The nodes of the text; `done` tells that it is complete. */
  update(source, done) {
    const text = visible(source);
    if (!text.startsWith(this.#frozenText)) this.#reset();
    const rest = text.slice(this.#frozenText.length);
    if (rest === this.#openText && done === this.#done) return this.nodes;
    this.#render(rest, done);
    return this.nodes;
  }

  get nodes() {
    return [...this.#frozen, ...this.#open];
  }

  #reset() {
    this.#frozenText = "";
    this.#frozen = [];
    this.#openText = null;
  }

  #render(rest, done) {
    const tokens = marked.lexer(rest);
    // A blank line at the end does not finish a block: a list may go on after it.
    let last = tokens.length - 1;
    while (last > 0 && tokens[last].type === "space") last -= 1;
    const closed = done ? tokens.length : Math.max(0, last);
    for (const token of tokens.slice(0, closed)) this.#freeze(token);
    const open = tokens.slice(closed);
    this.#open = open.flatMap(nodesOf);
    this.#openText = open.map((token) => token.raw).join("");
    this.#done = done;
    if (done) highlight(this.#frozen);
  }

  #freeze(token) {
    this.#frozen.push(...nodesOf(token));
    this.#frozenText += token.raw;
  }
}
