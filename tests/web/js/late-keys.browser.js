// Keys that a busy page hears of late: the time of the press counts, not that of its handling.

import { same, test } from "./harness.js";
import { keys, listen } from "../../../paca/web/static/paca/core/keys.js";
import { askKeys } from "../../../paca/web/static/paca/asks/ask-keys.js";
import "../../../paca/web/static/paca/asks/ask-element.js";

const now = performance.now.bind(performance);
let late = 0; // how much later the page handles what is pressed
performance.now = () => now() + late;
listen();
askKeys();

function press(key, at) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  Object.defineProperty(event, "timeStamp", { value: at });
  document.body.dispatchEvent(event);
}

test("letters that were pressed in a row are a word, however late the page hears of them", () => {
  const left = [];
  keys("Test", [["x", "Leave the page", () => left.push("x"), true]]);
  const composer = document.createElement("div");
  composer.className = "composer";
  const field = composer.appendChild(document.createElement("textarea"));
  document.body.append(composer);
  const at = now();
  press("x", at);
  late = 1000;
  press("y", at + 50);
  late = 0;
  composer.remove();
  same([field.value, left], ["xy", []]);
});

test("key that was pressed before a request was on the page decides nothing on it", () => {
  const sent = [];
  globalThis.fetch = async (_address, { body }) => {
    sent.push(JSON.parse(body).decision);
    return new Response('{"state": "approved", "decided_by": {"name": "Ada"}, "reason": ""}');
  };
  const before = now();
  const ask = document.createElement("paca-ask");
  Object.assign(ask, { ask: { call_id: "c", kind: "approval", tool: "bash", subject: "rm", why: "", arguments: { command: "rm" } }, mayDecide: true, url: "/", agent: "Rosa" });
  document.body.append(ask);
  ask.flush();
  late = 1000;
  press("a", before);
  same([ask.wasSeen(performance.now()), sent], [true, []]);
  press("a", now() + 500);
  late = 0;
  same(sent, ["approve"]);
});
