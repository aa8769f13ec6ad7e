// Markdown to DOM, the only place where text becomes markup. marked parses and DOMPurify sanitises.

import "../../vendor/dompurify/purify.js";
import { highlight } from "./highlight.js";
import { codeBlock } from "./code-block.js";
import { blocksOf, markupOf, mayHoldFormula } from "./markdown-dialect.js";
import { readableProse } from "./terminal.js";

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

/** Markdown as one line of plain text, for where there is no place for more. */
export function plainText(source) {
  const nodes = blocksOf(readableProse(source)).flatMap((token) => [...purify.sanitize(markupOf(token), ALLOWED).childNodes]);
  return nodes.map((node) => node.textContent.trim().replace(/\s+/g, " ")).filter(Boolean).join(" ");
}

/** The nodes of one block of Markdown, finished or growing. */
function nodesOf(token) {
  const fragment = purify.sanitize(markupOf(token), ALLOWED);
  for (const link of fragment.querySelectorAll("a")) guardLink(link);
  for (const box of fragment.querySelectorAll("input")) guardCheckbox(box);
  for (const table of fragment.querySelectorAll("table")) scrollable(table);
  for (const pre of fragment.querySelectorAll("pre")) pre.replaceWith(codeBlock(pre));
  const nodes = [...fragment.childNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE || node.data.trim());
  // Each block is read in the direction of its own language; code and formulas from left to right.
  for (const node of nodes) if (!node.matches?.(".code, .formula")) node.dir = "auto";
  return nodes;
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
    const text = readableProse(source);
    const isNewlyDone = done && !this.#done && mayHoldFormula(text);
    if (isNewlyDone || !text.startsWith(this.#frozenText)) this.#reset();
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
    const tokens = blocksOf(rest);
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
