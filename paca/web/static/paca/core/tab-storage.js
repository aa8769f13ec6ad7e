// Values of this tab's session storage: they outlast a reload, a sign-in and a crash of the browser.

// A browser may forbid storage, or it is full. Then a value lasts as long as the page, which must still work.
const withoutStorage = new Map();

/** The value that was stored under `key`, or `otherwise`. */
export function load(key, otherwise) {
  if (withoutStorage.has(key)) return withoutStorage.get(key) ?? otherwise;
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Store a JSON value under `key`; null removes it. */
export function save(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
    withoutStorage.delete(key);
  } catch {
    withoutStorage.set(key, value);
  }
}
