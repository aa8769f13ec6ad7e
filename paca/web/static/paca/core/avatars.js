// How a member looks, drawn from the id alone, so it is stable and needs no upload.
// paca/web/avatars.py draws the same; tests/web/identity_cases.json holds the two together.

/** FNV-1a, 32 bits: small, the same in every language. */
export function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  }
  return value;
}

/** One of six tones, 1 to 6. */
export function toneOf(id) {
  return (hash(`tone:${id}`) % 6) + 1;
}

/** The corner that is mirrored: of nine cells four to six, so that it reads as a pattern. */
function quarterOf(id) {
  for (let salt = 0; ; salt += 1) {
    const bits = hash(`weave:${salt}:${id}`);
    const quarter = Array.from({ length: 9 }, (_, index) => (bits >>> (index * 3)) & 1);
    const count = quarter.reduce((sum, bit) => sum + bit, 0);
    if (count >= 4 && count <= 6) return quarter;
  }
}

/** The cells [x, y] of a 5 by 5 weave, mirrored both ways. */
export function weave(id) {
  const quarter = quarterOf(id);
  const cells = [];
  for (let y = 0; y < 5; y += 1) {
    for (let x = 0; x < 5; x += 1) {
      if (quarter[Math.min(y, 4 - y) * 3 + Math.min(x, 4 - x)]) cells.push([x, y]);
    }
  }
  return cells;
}

/** "Ada Okafor" is AO, "ada" is A; signs that are no letter or digit do not count. */
export function initials(name) {
  const letters = name.split(/\s+/).map((word) => /[\p{L}\p{N}]/u.exec(word)?.[0]).filter(Boolean);
  return [...letters.slice(0, 1), ...letters.slice(1).slice(-1)].join("").toUpperCase() || "?";
}
