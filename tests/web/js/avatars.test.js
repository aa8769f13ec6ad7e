import { same, test } from "./harness.js";
import { initials, toneOf, weave } from "../../../paca/web/static/paca/core/avatars.js";
import { stateOf } from "../../../paca/web/static/paca/conversation/labels.js";

async function cases() {
  const url = new URL("./cases.json", import.meta.url);
  if (url.protocol !== "file:") return (await fetch(url)).json();
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(url, "utf8"));
}

test("a member looks the same wherever they are drawn", async () => {
  for (const { id, tone, cells } of (await cases()).members) {
    same([toneOf(id), weave(id)], [tone, cells], id);
  }
});

test("initials are the first signs of the first and the last word", async () => {
  for (const [name, wanted] of (await cases()).initials) same(initials(name), wanted, name);
});

test("a state has the same words on the server and in the page", async () => {
  for (const { status, reason, label, icon, because } of (await cases()).states) {
    const found = stateOf({ status, reason });
    same([found.label, found.icon, found.because], [label, icon, because], `${status}/${reason}`);
  }
});
