// Copy on write: a draft's map or list becomes its own at the first write, so that a piece of text
// that streams in does not copy a conversation of thousands of entries.

export function own(draft, field) {
  if (!draft.owned.has(field)) {
    const shared = draft[field];
    draft[field] = Array.isArray(shared) ? [...shared] : new Map(shared);
    draft.owned.add(field);
  }
  return draft[field];
}
