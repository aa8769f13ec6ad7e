// Markdown needs a DOM, so these run in the browser tier only.

import { check, randomly, same, test } from "./harness.js";
import { GrowingMarkdown } from "../../../paca/web/static/paca/core/markdown.js";

function made(text, done = true) {
  const place = document.createElement("div");
  place.append(...new GrowingMarkdown().update(text, done));
  return place;
}

const markup = (text) => made(text).innerHTML;

test("Markdown becomes elements", () => {
  const cases = [
    ["**bold** and `code`", "strong, code"],
    ["# Title\n\nText", "h2, p"],
    ["- one\n- two", "ul > li + li"],
    ["3. three\n4. four", "ol[start='3']"],
    ["- [x] done\n- [ ] open", "li > input[type=checkbox][disabled]"],
    ["> quoted", "blockquote"],
    ["| a | b |\n|---|--:|\n| 1 | 2 |", ".prose-table td[align=right]"],
    ["```python\nx = 1\n```", ".code[data-language=python] pre"],
    ["[site](https://example.org/)", "a[href='https://example.org/'][rel~=noopener]"],
    ["https://example.org/x", "a[href='https://example.org/x']"],
  ];
  for (const [text, selector] of cases) check(made(text).querySelector(selector), `${text} has no ${selector}`);
});

test("Markdown cannot run, load or send anything", () => {
  const payloads = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe src=//x.example>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>", "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\nscript:alert(1))", "[x](&#106;avascript:alert(1))",
    "[x](vbscript:x)", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](//evil.example)", "[x](/admin/logout/)",
    "![x](https://evil.example/beacon.png)", "![x](javascript:alert(1))", "<form action=//x.example><input></form>",
    "<style>*{display:none}</style>", "<link rel=stylesheet href=//x.example>", "<base href=//x.example>",
    "<meta http-equiv=refresh content=0;url=//x.example>", "<object data=x>", "<embed src=x>", "<video src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>", "<input autofocus onfocus=alert(1)>", "<body onload=alert(1)>",
    "<table background=//x.example>", "<div style='background:url(//x.example)'>", "```html\n<script>alert(1)</script>\n```",
    "`<img src=x onerror=alert(1)>`", "<!--<img src=x onerror=alert(1)>-->", "<![CDATA[<script>alert(1)</script>]]>",
    "[x]: javascript:alert(1)\n\n[x]", "<a name=x id=location>", "<p id=body>clobber</p>",
    "[a](https://a.example \"\"onmouseover=alert(1) \")", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "```\"><img src=x onerror=alert(1)>\ncode\n```", "~~~<script>\nx\n~~~", "# <img src=x onerror=alert(1)>",
    "| <img src=x onerror=alert(1)> |\n|---|\n| [x](javascript:alert(1)) |", "- <svg/onload=alert(1)>",
  ];
  for (const payload of payloads) {
    const place = made(payload);
    const bad = place.querySelector("script, img, iframe, object, embed, video, form, style, link, base, meta, math, [id], [name]");
    check(!bad, `${payload} made ${bad?.outerHTML}`);
    for (const element of place.querySelectorAll("*")) {
      for (const { name } of element.attributes) check(!name.startsWith("on"), `${payload} made ${name}`);
      check(!element.hasAttribute("style"), payload);
    }
    for (const link of place.querySelectorAll("a")) {
      check(["http:", "https:", "mailto:"].includes(link.protocol), `${payload} leads to ${link.href}`);
      check(link.getAttribute("href").match(/^(https?|mailto):/i), `${payload} leads to ${link.getAttribute("href")}`);
    }
  }
});

test("markup in the text is shown as text", () => {
  check(made("a <b>bold</b> word").textContent.includes("<b>bold</b>"));
});

const TEXT = `Some **words** here.

- one
- two

  with more
- three

\`\`\`js
const x = 1;

const y = 2;
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

The end 🦙.`;

test("growing text ends like text that came at once", () => {
  const wanted = markup(TEXT);
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = randomly(seed);
    const growing = new GrowingMarkdown();
    for (let length = 1; length < TEXT.length; length += 1 + Math.floor(random() * 20)) {
      growing.update(TEXT.slice(0, length), false);
    }
    const place = document.createElement("div");
    place.append(...growing.update(TEXT, true));
    same(place.innerHTML, wanted, `seed ${seed}`);
  }
});

test("finished blocks are converted once", () => {
  const growing = new GrowingMarkdown();
  const [first] = growing.update("First block.\n\nSecond", false);
  const after = growing.update("First block.\n\nSecond block grows\n\nand a third", false);
  check(after[0] === first);
});

test("changed text is converted again", () => {
  const growing = new GrowingMarkdown();
  growing.update("First block.\n\nSecond", false);
  const place = document.createElement("div");
  place.append(...growing.update("Other.", true));
  same(place.textContent, "Other.");
});

test("blocks have the direction of their language, and code does not", () => {
  const place = made("مرحبا بالعالم\n\n- שלום\n- b\n\n```\ncode\n```\n\nEnglish `كود`");
  document.body.append(place);
  place.className = "prose";
  const directions = [...place.children].map((node) => getComputedStyle(node).direction);
  same(directions, ["rtl", "rtl", "ltr", "ltr"]);
  place.remove();
});

test("marks of direction work in prose and are visible in code", () => {
  const place = made("a\u200fb `c\u202ed` e\u202ef\n\n```\ng\u200eh\n```");
  check(place.textContent.includes("a\u200fb"), "a mark of prose is lost");
  check(place.textContent.includes("c‹U+202E›d") && place.textContent.includes("g‹U+200E›h"), "a mark in code is hidden");
  check(place.textContent.includes("e‹U+202E›f"), "an override in prose is hidden");
});

test("formula that grows ends like one that came at once", () => {
  const text = "So:\n\n\\[\na\n- b\n\\]\n\nand \\(c_1*d*e\\).";
  const wanted = markup(text);
  const growing = new GrowingMarkdown();
  for (let length = 1; length < text.length; length += 1) growing.update(text.slice(0, length), false);
  const place = document.createElement("div");
  place.append(...growing.update(text, true));
  same(place.innerHTML, wanted);
});
