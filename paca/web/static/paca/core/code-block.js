// The frame around a code block: language, copy button, horizontal scrolling.

import { copyButton } from "./copy.js";
import { visible } from "./terminal.js";

/** Replace a sanitised <pre> by a framed code block. */
export function codeBlock(pre) {
  const code = pre.querySelector("code") ?? pre;
  const text = visible(code.textContent.replace(/\n$/, ""));
  const language = /(?:^|\s)language-([\w+#-]{1,20})/.exec(code.className)?.[1] ?? "";
  const block = document.createElement("div");
  block.className = "code";
  block.dataset.language = language;
  block.append(head(language, text), body(text, language));
  return block;
}

function head(language, text) {
  const line = document.createElement("div");
  line.className = "code-head";
  line.append(language || "text", copyButton(() => text, "Copy"));
  return line;
}

function body(text, language) {
  const pre = document.createElement("pre");
  pre.tabIndex = 0;
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", language ? `Code, ${language}` : "Code");
  pre.textContent = text;
  return pre;
}
