import { check, same, test } from "./harness.js";
import { blocksOf, markupOf } from "../../../paca/web/static/paca/core/markdown-dialect.js";

const markup = (text) => blocksOf(text).map(markupOf).join("").trim();
const inParagraph = (text) => markup(text).replace(/^<p>|<\/p>$/g, "");

test("texts of markers nest to a bounded depth and need no deep stack", () => {
  const texts = {
    quotes: `${">".repeat(2000)} x`, spacedQuotes: `${"> ".repeat(50_000)}x`, lists: `${"- ".repeat(50_000)}x`,
    numbered: `${"1. ".repeat(20_000)}x`, both: `${"> - ".repeat(5000)}x`,
    emphasis: `${"*".repeat(50_000)}a${"*".repeat(50_000)}`, alternating: `${"*a **b ".repeat(9000)}${"c** d* ".repeat(9000)}`,
    underscores: "__a".repeat(30_000), tildes: "~~a ".repeat(25_000), brackets: "[".repeat(50_000),
    images: "![".repeat(50_000), links: "[a](".repeat(25_000), addresses: `${"[a](".repeat(25_000)})`, formulas: "\\[ ".repeat(20_000), lines: "\\[\n".repeat(20_000),
    dollars: "$a_ ".repeat(25_000), onlyDollars: `${"$".repeat(100_000)}*`, backticks: "`a``b```".repeat(10_000), words: "漢".repeat(90_000),
  };
  for (const [name, text] of Object.entries(texts)) {
    const found = markup(text);
    check(found.split(/<(?:blockquote|ul|ol|em|strong)/).length < 20_000, name);
    check(depthOf(found) <= 60, `${name} is ${depthOf(found)} deep`);
  }
});

function depthOf(text) {
  let [depth, deepest] = [0, 0];
  for (const [tag] of text.matchAll(/<\/?[a-z][^>]*>/g)) {
    if (/^<(br|hr|input)/.test(tag)) continue;
    depth += tag[1] === "/" ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

test("only two tildes strike out", () => {
  same(inParagraph("Takes 5~10 minutes, at most 20~30 minutes."), "Takes 5~10 minutes, at most 20~30 minutes.");
  same(inParagraph("~one~ and ~~two~~"), "~one~ and <del>two</del>");
});

test("URL ends at punctuation of scripts that put no space after it", () => {
  const cases = [
    ["请看 https://example.com/a，然后继续。", "https://example.com/a", "，然后继续。"],
    ["(https://example.com/a)。", "https://example.com/a", ")。"],
    ["https://example.com/a（说明）", "https://example.com/a", "（说明）"],
    ["「https://example.com/a?b=1&c=2」と", "https://example.com/a?b=1&amp;c=2", "」と"],
    ["https://example.com/a، ثم", "https://example.com/a", "، ثم"],
    ["https://example.com/a.", "https://example.com/a", "."],
  ];
  for (const [text, url, rest] of cases) {
    const found = inParagraph(text).replaceAll("&#38;", "&amp;");
    check(found.includes(`href="${url}"`), `${text}: ${found}`);
    check(found.endsWith(`</a>${rest}`), `${text}: ${found}`);
  }
});

test("emphasis works between characters without spaces", () => {
  const cases = [
    ["**「重要」**です", "<strong>「重要」</strong>です"],
    ["これは**「強調」**です", "これは<strong>「強調」</strong>です"],
    ["**注意：**请看", "<strong>注意：</strong>请看"],
    ["中文**（强调）**中文", "中文<strong>（强调）</strong>中文"],
    ["**강조(強調)**는", "<strong>강조(強調)</strong>는"],
    ["*「斜体」*です", "<em>「斜体」</em>です"],
    ["~~删除。~~下", "<del>删除。</del>下"],
  ];
  for (const [text, wanted] of cases) same(inParagraph(text), wanted);
});

test("emphasis of other texts is that of CommonMark", () => {
  const cases = [
    ["**bold**text", "<strong>bold</strong>text"], ["foo*bar*baz", "foo<em>bar</em>baz"], ["snake_case_name", "snake_case_name"],
    ["***both***", "<em><strong>both</strong></em>"], ["2 * 3 * 4", "2 * 3 * 4"], ["**a*b*c**", "<strong>a<em>b</em>c</strong>"],
    ["a**(b)**c", "a**(b)**c"], ["*x **y** z*", "<em>x <strong>y</strong> z</em>"],
  ];
  for (const [text, wanted] of cases) same(inParagraph(text), wanted);
});

test("image is a link, and inside a link it is the text of that link", () => {
  const cases = [
    ["[![CI](https://b.example/x.svg)](https://u.example/)", '<a href="https://u.example/">CI</a>'],
    ["[![](https://b.example/x.svg)](https://u.example/)", '<a href="https://u.example/">https://b.example/x.svg</a>'],
    ["![a plan](https://i.example/z.png)", '<a href="https://i.example/z.png">a plan</a>'],
    ["[](https://u.example/)", '<a href="https://u.example/">https://u.example/</a>'],
    ["[](<https://u.example/>) ![x](https://i.example/)", '<a href="https://u.example/">https://u.example/</a> <a href="https://i.example/">x</a>'],
  ];
  for (const [text, wanted] of cases) same(inParagraph(text), wanted);
});

test("formula stays as it is written", () => {
  for (const text of ["\\(a_1\\) and \\[x*y*z\\]", "so $$a*b*c$$", "$x_1*y*z$", "\\(a*b\\) *c\\(d\\)"]) {
    same(inParagraph(text).replaceAll(/<\/?em>/g, ""), text);
  }
  same(markup("\\[\na\n- b\n= c\n\\]"), '<p class="formula">\\[\na\n- b\n= c\n\\]</p>');
  same(inParagraph("costs $5, or *about* $6"), "costs $5, or <em>about</em> $6");
  same(inParagraph("`\\(a\\)` is code"), "<code>\\(a\\)</code> is code");
});

test("blocks hold the whole text", () => {
  const text = "# T\n\n请看 **「a」**b\n\n\\[\nx\n\\]\n\n- a\n  - b\n\n> q\n";
  same(blocksOf(text).map((block) => block.raw).join(""), text);
});
