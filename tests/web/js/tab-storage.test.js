import { same, test } from "./harness.js";
import { load, save } from "../../../paca/web/static/paca/core/tab-storage.js";

test("value that does not fit into the storage any more lasts as long as the page", () => {
  const kept = new Map();
  const full = { value: false };
  const own = Object.getOwnPropertyDescriptor(globalThis, "sessionStorage");
  Object.defineProperty(globalThis, "sessionStorage", {
    configurable: true,
    value: {
      getItem: (key) => kept.get(key) ?? null,
      removeItem: (key) => kept.delete(key),
      setItem(key, text) {
        if (full.value) throw new Error("QuotaExceededError");
        kept.set(key, text);
      },
    },
  });
  try {
    save("draft", "first words");
    full.value = true;
    save("draft", "first words and more");
    same(load("draft", ""), "first words and more");
    save("draft", null);
    same(load("draft", ""), "");
    full.value = false;
    save("draft", "new words");
    same(load("draft", ""), "new words");
  } finally {
    if (own) Object.defineProperty(globalThis, "sessionStorage", own);
    else delete globalThis.sessionStorage;
  }
});
