// Copy on write: the first write to a map or list of a draft copies it. Streamed text changes small
// maps only, so it does not copy a conversation of thousands of entries.

/** The draft's own copy of a map or list, which may be written to. */
export function writable(draft, field) {
  if (!draft.owned.has(field)) {
    const shared = draft[field];
    draft[field] = Array.isArray(shared) ? [...shared] : new Map(shared);
    draft.owned.add(field);
  }
  return draft[field];
}
