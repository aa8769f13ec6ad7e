// The keys of the asks of a page: A approves, D denies and a digit chooses, where it is clear which ask is meant.

import { keys } from "../core/keys.js";

export const ASKS = "paca-ask, paca-question, paca-plan";
const canDecide = (ask, at) => ask.isOpen && ask.wasSeen(at);

/** The ask that has the focus, else the only one of the page, if it was seen before the key was pressed. */
function meant(at) {
  const focused = document.activeElement?.closest?.(ASKS);
  if (focused) return canDecide(focused, at) ? focused : null;
  const open = [...document.querySelectorAll(ASKS)].filter((each) => each.isOpen);
  return open.length === 1 && canDecide(open[0], at) ? open[0] : null;
}

function decide({ timeStamp }, name, ...given) {
  const ask = meant(timeStamp);
  return ask?.[name] ? ask[name](...given) !== false : false;
}

/** Add the keys to the table of this page. */
export function askKeys() {
  keys("Requests to you", [
    ["a", "Approve the call or plan that waits", (event) => decide(event, "approve"), true],
    ["d", "Deny the call, or reject the plan", (event) => decide(event, "deny"), true],
    ...[1, 2, 3, 4, 5, 6, 7].map((number) => [String(number), `Choose answer ${number}`, (event) => decide(event, "choose", number), true]),
  ]);
}
