// The mention that is being typed in a text, and the members it may mean. Pure.

const MOST = 8;

/** The mention before the caret: {start, query}, or null. It begins with "@" after a blank or at the start. */
export function mentionAt(text, caret) {
  const found = /(?:^|[\s([{"'])@([\p{L}\p{N}_.-]{0,40})$/u.exec(text.slice(0, caret));
  return found ? { start: caret - found[1].length - 1, query: found[1] } : null;
}

/** Members whose handle or name fits the query, those that begin with it first. */
export function candidates(members, query) {
  const wanted = query.toLowerCase();
  const fit = members.filter(({ handle, name }) => handle.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted));
  const rank = ({ handle, name }) => (handle.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().startsWith(wanted) ? 1 : 2);
  return [...fit].sort((one, other) => rank(one) - rank(other)).slice(0, MOST);
}

/** The text and caret after the mention is completed with a handle. */
export function completed(text, caret, { start }, handle) {
  const before = `${text.slice(0, start)}@${handle} `;
  return { text: before + text.slice(caret).replace(/^ /, ""), caret: before.length };
}
