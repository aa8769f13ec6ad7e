import { same, test } from "./harness.js";
import { initials, avatarTone, identiconCells } from "../../../paca/web/static/paca/core/avatars.js";

async function cases() {
  const url = new URL("./cases.json", import.meta.url);
  if (url.protocol !== "file:") return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

test("avatars are the same in Python and in JavaScript", async () => {
  for (const { id, tone, cells } of (await cases()).members) {
    same([avatarTone(id), identiconCells(id)], [tone, cells], id);
  }
});

test("initials are the first letters of the first and the last word", async () => {
  for (const [name, wanted] of (await cases()).initials) same(initials(name), wanted, name);
});
