// Our dialect of Markdown: GFM as marked parses it, with bounded nesting, and with rules for texts
// without spaces between words, for formulas and for tildes.

import { Lexer, Marked, Tokenizer } from "../../vendor/marked/marked.js";
import { visible } from "./terminal.js";

// Deeper quotes, lists and emphasis stay as written. Parsing is recursive, so depth costs stack.
const MAX_DEPTH = 12;
// The search for the end of emphasis or of a link costs as much as the text is long. A text of delimiters
// would cost the square of that, so each text has a budget; what is found after its end stays as written.
const MAX_SEARCHED = 4_000_000; // characters
// Longer formulas are not looked for, so that a lone delimiter costs little.
const MAX_FORMULA = 2000; // characters

// A URL in running text ends at punctuation of scripts whose writers put no space after it.
const URL_END = /[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u2018\u2019\u201c\u201d\u2026\u060c\u061b\u061f\u06d4\u0964\u0965]/;

class BoundedTokenizer extends Tokenizer {
  #depth = 0;
  #searched = 0;

  /** Begin a text, with inline rules for it. */
  begin(rules) {
    this.rules.inline = rules;
    this.#depth = this.#searched = 0;
  }

  blockquote(...args) {
    return this.#nested(() => super.blockquote(...args));
  }

  list(...args) {
    return this.#nested(() => super.list(...args));
  }

  emStrong(source, ...rest) {
    if (source[0] !== "*" && source[0] !== "_") return undefined;
    return this.#search(source.length, () => super.emStrong(source, ...rest));
  }

  link(source, ...rest) {
    if (this.#searched > MAX_SEARCHED) return undefined;
    return this.#search(addressLength(source), () => super.link(source, ...rest));
  }

  reflink(...args) {
    return this.#nested(() => super.reflink(...args));
  }

  /** One tilde means "about", so only two strike out. */
  del(source, ...rest) {
    if (!source.startsWith("~~")) return undefined;
    return this.#search(source.length, () => super.del(source, ...rest));
  }

  /** Running text also ends where a formula may begin. */
  inlineText(source) {
    // The rule for text looks far ahead, so it gets no more than it may take.
    const near = source.slice(0, MAX_FORMULA).indexOf("$", 1);
    if (near > 0) return super.inlineText(source.slice(0, near));
    const token = super.inlineText(source);
    const end = token ? token.raw.indexOf("$", 1) : -1;
    return end < 0 ? token : super.inlineText(source.slice(0, end));
  }

  url(source) {
    const link = super.url(source);
    const end = link ? link.raw.search(URL_END) : -1;
    return end < 0 ? link : super.url(source.slice(0, end));
  }

  #search(length, read) {
    this.#searched += length;
    return this.#searched > MAX_SEARCHED ? undefined : this.#nested(read);
  }

  #nested(read) {
    if (this.#depth >= MAX_DEPTH) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** How far the address of a link may go: up to a space, or to the end of its title. */
function addressLength(source) {
  const start = source.indexOf("](");
  if (start < 0) return 0;
  const end = /\S*(?:\s+(?:"[^"]*|'[^']*|\([^)]*))?/y;
  end.lastIndex = start + 2;
  return end.exec(source)[0].length;
}

// --- emphasis -------------------------------------------------------------------------------------

// CommonMark decides by spaces and punctuation whether a delimiter opens or closes. In Chinese,
// Japanese and Korean there are no spaces between words, so there a delimiter between punctuation and
// a letter does both.
const CJK = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\u3000-\u303f\uff00-\uffef]`;
const HAS_CJK = new RegExp(CJK, "u");
const CJK_PUNCTUATION = String.raw`(?=${CJK})[\p{P}\p{S}]`;
const PUNCTUATION = String.raw`(?!~)[\p{P}\p{S}]`;
const LETTER = String.raw`(?:[^\s\p{P}\p{S}]|~)`;

/** What can close a run of `mark`. Its groups are those of marked: 1, 2 close; 3, 4 open; 5, 6 do both. */
function closers(mark, skipped) {
  const both = [
    `${CJK_PUNCTUATION}${mark}+(?!${mark})${LETTER}`, `${PUNCTUATION}${mark}+(?!${mark})(?=${CJK})${LETTER}`,
    `${LETTER}${mark}+(?!${mark})${CJK_PUNCTUATION}`, `(?=${CJK})${LETTER}${mark}+(?!${mark})${PUNCTUATION}`,
  ].join("|");
  const run = mark === "~" ? "(~~?)" : String.raw`(\*+)`;
  return new RegExp([
    ...skipped,
    `(?!${mark})${PUNCTUATION}${run}(?=\\s|$)`,
    `(?!${both})${LETTER}${run}(?!${mark})(?=${PUNCTUATION}|\\s|$)`,
    `(?!${both})(?!${mark})(?:\\s|${PUNCTUATION})${run}(?=${LETTER})`,
    `\\s${run}(?!${mark})(?=${PUNCTUATION})`,
    `(?!${mark})${PUNCTUATION}${run}(?!${mark})(?=${PUNCTUATION})`,
    `(?:(?=${both})[^${mark}]|${LETTER}(?=${mark}+${LETTER}))${run}`,
  ].join("|"), "gu");
}

// marked looks for an email address at each character, as far as its characters go. The part before
// the @ has 64 characters at most; without that limit a long word costs the square of its length.
const boundedEmail = (rule) => new RegExp(rule.source.replaceAll(/\]\+(?=\)?\(?@)/g, "]{1,64}"), rule.flags);

const GFM = Lexer.rules.inline.gfm;
const RULES = { ...GFM, text: boundedEmail(GFM.text), url: boundedEmail(GFM.url) };
const CJK_RULES = {
  ...RULES,
  emStrongLDelim: new RegExp(
    `^(?:\\*+(?:((?!\\*)(?!${CJK})${PUNCTUATION})|([^\\s*]))?)|^_+(?:((?!_)${PUNCTUATION})|([^\\s_]))?`, "u",
  ),
  emStrongRDelimAst: closers(String.raw`\*`, [String.raw`^[^_*]*?__[^_*]*?\*[^_*]*?(?=__)`, String.raw`[^*]+(?=[^*])`]),
  delRDelim: closers("~", ["^[^~]+(?=[^~])"]),
  punctuation: new RegExp(`^((?![*_])(?:[\\s\\p{P}\\p{S}]|${CJK}))`, "u"),
};

// --- formulas -------------------------------------------------------------------------------------

const ENDS = new Map([["\\(", "\\)"], ["\\[", "\\]"], ["$$", "$$"]]);
// A single $ is a price more often than a formula, so what it encloses must look like one.
const DOLLARS = /^\$(?![\s$])(?=[^$\n]{0,300}[\\^_{])[^$\n`]{1,300}(?<!\s)\$(?!\d)/;
const BLANK_LINE = /\n[ \t]*\n/;

/** The formula with delimiters at the beginning of a text; empty if there is none. */
function formulaAt(text) {
  const end = ENDS.get(text.slice(0, 2));
  if (!end) return "";
  const near = text.slice(0, MAX_FORMULA);
  const index = near.indexOf(end, 2);
  const found = index < 0 ? "" : near.slice(0, index + 2);
  return found.length > 4 && !BLANK_LINE.test(found) ? found : "";
}

/** Where a displayed formula begins on a later line of the first paragraph, if one does. */
function displayedFormulaIn(text) {
  const end = text.indexOf("\n\n");
  const paragraph = end < 0 ? text : text.slice(0, end);
  for (const { index } of paragraph.matchAll(/\n(?=\\\[|\$\$)/g)) if (formulaAt(paragraph.slice(index + 1))) return index;
  return undefined;
}

/** A formula stays as written: a reader of formulas knows LaTeX, and its signs are no Markdown. */
const formula = {
  name: "formula", level: "inline",
  tokenizer(source) {
    if (source[0] !== "\\" && source[0] !== "$") return undefined;
    const found = formulaAt(source) || DOLLARS.exec(source)?.[0];
    return found ? { type: "formula", raw: found, text: found } : undefined;
  },
  renderer: ({ text }) => escaped(text),
};

const displayedFormula = {
  name: "displayedFormula", level: "block",
  start: displayedFormulaIn,
  tokenizer(source) {
    const start = /^ {0,3}(?=\\\[|\$\$)/.exec(source)?.[0];
    const text = start === undefined ? "" : formulaAt(source.slice(start.length));
    if (!text) return undefined;
    const rest = /^[ \t]*(?:\n+|$)/.exec(source.slice(start.length + text.length))?.[0];
    return rest === undefined ? undefined : { type: "displayedFormula", raw: start + text + rest, text };
  },
  renderer: ({ text }) => `<p class="formula">${escaped(text)}</p>\n`,
};

// --- rendering ------------------------------------------------------------------------------------

export const escaped = (text) => text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

const tokenizer = new BoundedTokenizer();
let linksAround = 0; // a link inside a link would end the outer one

const marked = new Marked({
  gfm: true,
  extensions: [formula, displayedFormula],
  renderer: {
    // HTML in the text of a model or a person is shown as text.
    html: ({ text }) => escaped(text),
    codespan: ({ text }) => `<code>${escaped(visible(text))}</code>`,
    // An image would be fetched from any host that the text names. A link is fetched only on a click.
    image({ href, title, text }) {
      const words = escaped(text || title || (/^https?:/i.test(href) ? href : "image"));
      return linksAround ? words : `<a href="${escaped(href)}">${words}</a>`;
    },
    link({ href, tokens }) {
      linksAround += 1;
      try {
        return `<a href="${escaped(href)}">${this.parser.parseInline(tokens) || escaped(href)}</a>`;
      } finally {
        linksAround -= 1;
      }
    },
    heading({ tokens, depth }) {
      // Headings of an answer are below the headings of the page.
      const level = Math.min(depth + 1, 4);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});
marked.setOptions({ tokenizer });

/** The blocks of a text, as tokens; their `raw` parts joined are the text. */
export function blocksOf(text) {
  // Rules that cannot apply to this text are left out, because they are asked for each of its words.
  const mayHoldFormulas = text.includes("$") || text.includes("\\(") || text.includes("\\[");
  const lexer = new Lexer(mayHoldFormulas ? marked.defaults : { ...marked.defaults, extensions: null });
  tokenizer.begin(HAS_CJK.test(text) ? CJK_RULES : RULES);
  return lexer.lex(text);
}

/** The markup of one block. It is not sanitised. */
export function markupOf(block) {
  return marked.parser([block]);
}

/** Whether the text may hold a formula that goes over several blocks until its end is there. */
export function mayHoldFormula(text) {
  return text.includes("\\[") || text.includes("$$");
}
