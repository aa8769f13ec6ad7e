// Mentions in a text that is shown: handles of members are set off, other names and those in code or quotations are not.

// The characters before and after are those of paca/projects/mentions.py, which decides whom a mention reaches.
const MENTION = /(?<![\p{L}\p{N}_@+%=&~#/-])@([A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?)(?![\p{L}\p{N}_@])/gu;
const NO_MENTION = "code, pre, blockquote, a, .code, .formula, .mention";

/** The pieces of a text: [{text, mention}], where a mention names one of the handles (small letters). Pure. */
export function pieces(text, handles) {
  const found = [];
  let end = 0;
  for (const { 0: written, 1: handle, index } of text.matchAll(MENTION)) {
    if (!handles.has(handle.toLowerCase())) continue;
    if (index > end) found.push({ text: text.slice(end, index), mention: false });
    found.push({ text: written, mention: true });
    end = index + written.length;
  }
  if (end < text.length) found.push({ text: text.slice(end), mention: false });
  return found;
}

/** Put the mentions of members in these nodes into elements of their own. */
export function setOffMentions(nodes, members) {
  const handles = new Set(members.map(({ handle }) => handle.toLowerCase()));
  for (const node of nodes) {
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) if (text.data.includes("@") && !text.parentElement.closest(NO_MENTION)) replace(text, handles);
  }
}

function replace(node, handles) {
  const found = pieces(node.data, handles);
  if (!found.some(({ mention }) => mention)) return;
  node.replaceWith(...found.map(({ text, mention }) => {
    if (!mention) return text;
    const span = document.createElement("span");
    span.className = "mention";
    span.textContent = text;
    return span;
  }));
}
