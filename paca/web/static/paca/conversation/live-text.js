// Live text: pieces with offsets, which may arrive in any order and repeatedly, joined to one text.
//
// Offsets count code points, as Python does. JavaScript strings count UTF-16 units, which differ as
// soon as there is an emoji. So lengths here are in code points.

const pointsIn = (text) => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

const slicePoints = (text, from, to) => [...text].slice(from, to).join("");

/** `start`: code points dropped at the front; `length`: code points seen in all. */
export const EMPTY = Object.freeze({ start: 0, length: 0, text: "", held: Object.freeze([]) });

/**
 * Add a piece. A piece beyond the end is held until the gap before it is filled. If only the newest
 * `keep` characters are wanted, the text starts afresh instead: the gap may never be filled.
 */
export function merge(live, offset, piece, keep = Infinity) {
  if (offset > live.length) {
    if (keep === Infinity) return { ...live, held: hold(live.held, offset, piece) };
    return merge({ ...live, start: offset, length: offset, text: "" }, offset, piece, keep);
  }
  const joined = offset === live.length ? append(live, piece) : overlay(live, offset, piece);
  return release(trim(joined, keep), keep);
}

function append(live, piece) {
  return { ...live, text: live.text + piece, length: live.length + pointsIn(piece) };
}

// Text that is here stays; only what reaches beyond its ends is added. A new attempt starts from EMPTY.
function overlay(live, offset, piece) {
  const whole = prepend(live, offset, piece);
  return append(whole, slicePoints(piece, live.length - offset));
}

function prepend(live, offset, piece) {
  const missing = live.start - offset;
  if (missing <= 0 || pointsIn(piece) < missing) return live;
  return { ...live, start: offset, text: slicePoints(piece, 0, missing) + live.text };
}

function hold(held, offset, piece) {
  if (held.some((other) => other.offset === offset && other.piece === piece)) return held;
  return [...held, { offset, piece }].sort((one, other) => one.offset - other.offset);
}

function release(live, keep) {
  const [first, ...rest] = live.held;
  if (!first || first.offset > live.length) return live;
  return merge({ ...live, held: rest }, first.offset, first.piece, keep);
}

function trim(live, keep) {
  if (live.text.length <= keep) return live;
  // Never cut a surrogate pair: half of one shows as a broken character.
  let from = live.text.length - keep;
  if (/[\uDC00-\uDFFF]/.test(live.text[from])) from += 1;
  const dropped = pointsIn(live.text.slice(0, from));
  return { ...live, text: live.text.slice(from), start: live.start + dropped };
}
