// Which rows stand in the page: a part of all, so that a long conversation costs no more than a
// short one. Counted from the end, because older rows are put before and newer ones after.

const MOST = 400;
const STEP = 100;
const AT_FIRST = 200;

/** `skip` rows at the end are left out, and of those before them the last `count` are shown. */
export const NEWEST = Object.freeze({ skip: 0, count: AT_FIRST });

export function shown(rows, { skip, count }) {
  const end = rows.length - skip;
  return rows.slice(Math.max(0, end - count), end);
}

/** Rows above the window that are here but not shown. */
export function above(rows, { skip, count }) {
  return Math.max(0, rows.length - skip - count);
}

/** The reader comes near the top: more above, and beyond the most, less below. */
export function up({ skip, count }, length) {
  const wanted = Math.min(count + STEP, length - skip);
  return { skip: skip + Math.max(0, wanted - MOST), count: Math.min(MOST, wanted) };
}

/** The reader comes near the bottom of a window that does not reach the end. */
export function down({ skip, count }) {
  return { skip: Math.max(0, skip - STEP), count };
}

/** Rows were added at the end while the reader is elsewhere: the same rows stay. */
export function grown({ skip, count }, added) {
  return skip ? { skip: Math.max(0, skip + added), count } : { skip, count };
}
