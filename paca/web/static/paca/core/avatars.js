// Avatars that are derived from the id of a member, so they are stable and need no upload.
// paca/web/avatars.py draws the same; tests/web/js/cases.json proves it.

/** The 32-bit FNV-1a hash. */
export function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  }
  return value;
}

/** The number of the colour tone, 1 to 6. */
export function avatarTone(id) {
  return (hash(`tone:${id}`) % 6) + 1;
}

/** The 3 by 3 corner that is mirrored. Four to six of its cells are set, so that a pattern shows. */
function cornerOf(id) {
  for (let salt = 0; ; salt += 1) {
    const bits = hash(`weave:${salt}:${id}`);
    const corner = Array.from({ length: 9 }, (_, index) => (bits >>> (index * 3)) & 1);
    const count = corner.reduce((sum, bit) => sum + bit, 0);
    if (count >= 4 && count <= 6) return corner;
  }
}

/** The filled cells [x, y] of a 5 by 5 identicon that is mirrored both ways. */
export function identiconCells(id) {
  const corner = cornerOf(id);
  const cells = [];
  for (let y = 0; y < 5; y += 1) {
    for (let x = 0; x < 5; x += 1) {
      if (corner[Math.min(y, 4 - y) * 3 + Math.min(x, 4 - x)]) cells.push([x, y]);
    }
  }
  return cells;
}

/** "Ada Okafor" is AO, "ada" is A; only letters and digits count. */
export function initials(name) {
  const letters = name.split(/\s+/).map((word) => /[\p{L}\p{N}]/u.exec(word)?.[0]).filter(Boolean);
  return [...letters.slice(0, 1), ...letters.slice(1).slice(-1)].join("").toUpperCase() || "?";
}
