// The same tests under `node --test` and in a browser: what both need, in forty lines.

const inNode = typeof process !== "undefined" && Boolean(process.versions?.node);

/** What runs in a browser: promises of {name, error}, awaited by tests/browser/test_modules.py. */
export const outcomes = [];

async function outcomeOf(name, body) {
  try {
    await body();
    return { name, error: "" };
  } catch (error) {
    return { name, error: String(error.stack ?? error) };
  }
}

const browserTest = (name, body) => void outcomes.push(outcomeOf(name, body));

export const test = inNode ? (await import("node:test")).test : browserTest;

export function check(condition, message = "not true") {
  if (!condition) throw new Error(message);
}

export function same(found, wanted, message = "") {
  const [left, right] = [shape(found), shape(wanted)];
  if (left !== right) throw new Error(`${message}\nfound:  ${left}\nwanted: ${right}`);
}

function shape(value) {
  return JSON.stringify(value, (_key, part) => {
    if (part instanceof Map) return { map: [...part] };
    if (part instanceof Set) return { set: [...part] };
    return part;
  });
}

/** Numbers in [0, 1) that are the same on each run: a failure can be repeated by its seed. */
export function randomly(seed) {
  let value = seed >>> 0;
  return () => {
    value = (value + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(value ^ (value >>> 15), value | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
