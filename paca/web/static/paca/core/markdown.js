// Markdown to DOM: the only place where text becomes markup. marked parses, DOMPurify decides.

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
    // Markup written by a model or a person is text like any other.
    html: ({ text }) => escaped(text),
    // A picture would be fetched from wherever the text says; a link waits to be asked.
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    heading({ tokens, depth }) {
      // The page's title is the only h1, and an answer does not outrank the page's sections.
      const level = Math.min(depth + 1, 4);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

/** Nodes for one finished or growing block of Markdown. */
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
  // The words of a link are the author's; where it goes must be visible too.
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
 * One text that grows at its end. Finished blocks are turned into nodes once and never touched
 * again, so a long answer costs no more at its end than at its beginning; only the last block,
 * which the next piece may still change, is made anew.
 */
export class GrowingMarkdown {
  #frozenText = "";
  #frozen = [];
  #open = [];
  #openText = null;
  #done = false;

  /** The nodes of the text; `done` says that nothing will follow. */
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
    // A trailing blank line does not close a block: a list goes on after one.
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
