// The window of rows that are rendered: a part of all, so that a long conversation costs no more than
// a short one. It is counted from the end, because older rows are added before the first.

const MAX_ROWS = 400;
const STEP = 100;
const INITIAL_ROWS = 200;

/** `skip` rows at the end are left out; of the rows before them the last `count` are rendered. */
export const NEWEST = Object.freeze({ skip: 0, count: INITIAL_ROWS });

export function visibleRows(rows, { skip, count }) {
  const end = rows.length - skip;
  return rows.slice(Math.max(0, end - count), end);
}

/** The number of loaded rows above the window. */
export function hiddenAbove(rows, { skip, count }) {
  return Math.max(0, rows.length - skip - count);
}

/** The reader comes near the top: show more rows above, and fewer below if there are too many. */
export function extendUp({ skip, count }, length) {
  const wanted = Math.min(count + STEP, length - skip);
  return { skip: skip + Math.max(0, wanted - MAX_ROWS), count: Math.min(MAX_ROWS, wanted) };
}

/** The reader comes near the bottom of a window that does not reach the end: move it down. */
export function extendDown({ skip, count }) {
  return { skip: Math.max(0, skip - STEP), count };
}

/** Rows were added at the end while the reader is elsewhere: keep the same rows. */
export function afterGrowth({ skip, count }, added) {
  return skip ? { skip: Math.max(0, skip + added), count } : { skip, count };
}
