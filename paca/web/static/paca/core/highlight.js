// Syntax colours of finished code blocks. The library and the language are loaded when first needed.

const ALIASES = new Map(Object.entries({
  sh: "bash", shell: "bash", console: "bash", zsh: "bash", py: "python", js: "javascript",
  mjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript", html: "xml",
  svg: "xml", yml: "yaml", toml: "ini", rs: "rust", golang: "go", md: "markdown", patch: "diff",
  docker: "dockerfile", make: "makefile", "c++": "cpp", h: "c", hpp: "cpp",
}));
const LANGUAGES = new Set([
  "bash", "c", "cpp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json",
  "makefile", "markdown", "python", "rust", "sql", "typescript", "xml", "yaml",
]);
const LONGEST = 20_000;
// The CSS class of each scope of the library; other scopes have no colour.
const LOOKS = new Map(Object.entries({
  "hljs-keyword": "tok-k", "hljs-literal": "tok-k", "hljs-type": "tok-k", "hljs-tag": "tok-k",
  "hljs-string": "tok-s", "hljs-regexp": "tok-s", "hljs-addition": "tok-s",
  "hljs-comment": "tok-c", "hljs-meta": "tok-c",
  "hljs-title": "tok-f", "hljs-section": "tok-f", "hljs-name": "tok-f", "hljs-attr": "tok-f",
  "hljs-number": "tok-n", "hljs-symbol": "tok-n", "hljs-built_in": "tok-n",
  "hljs-deletion": "tok-d",
}));

let library;
const registered = new Map();

/** Highlight the code blocks among these nodes, some time after this returns. */
export function highlight(nodes) {
  for (const node of nodes) {
    const blocks = node.matches?.(".code") ? [node] : (node.querySelectorAll?.(".code") ?? []);
    for (const block of blocks) void colour(block);
  }
}

async function colour(block) {
  const written = block.dataset.language.toLowerCase();
  const language = ALIASES.get(written) ?? written;
  const pre = block.querySelector("pre");
  const text = pre.textContent;
  if (!LANGUAGES.has(language) || text.length > LONGEST) return;
  try {
    const hljs = await load(language);
    const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
    if (pre.textContent === text) pre.replaceChildren(spans(value));
  } catch (error) {
    // The code is readable without colours; the reason is logged to the console.
    console.warn(`no colours for ${language}:`, error);
  }
}

function load(language) {
  if (!registered.has(language)) {
    library ??= import("../../vendor/highlight/core.js");
    registered.set(language, Promise.all([
      library, import(`../../vendor/highlight/languages/${language}.js`),
    ]).then(([{ default: hljs }, { default: grammar }]) => {
      hljs.registerLanguage(language, grammar);
      return hljs;
    }));
  }
  return registered.get(language);
}

function spans(markup) {
  const fragment = globalThis.DOMPurify.sanitize(markup, {
    ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true,
  });
  for (const span of fragment.querySelectorAll("span")) {
    span.className = LOOKS.get(span.classList[0]) ?? "";
  }
  return fragment;
}
