// The keys of the asks of a page: A approves, D denies and a digit chooses, where it is clear which ask is meant.

import { keys } from "../core/keys.js";

export const ASKS = "paca-ask, paca-question, paca-plan";
const canDecide = (ask) => ask.isOpen && ask.isSeen;

/** The ask that has the focus, else the only one of the page. */
function meant() {
  const focused = document.activeElement?.closest?.(ASKS);
  if (focused) return canDecide(focused) ? focused : null;
  const open = [...document.querySelectorAll(ASKS)].filter((each) => each.isOpen);
  return open.length === 1 && canDecide(open[0]) ? open[0] : null;
}

function decide(name, ...given) {
  const ask = meant();
  return ask?.[name] ? ask[name](...given) !== false : false;
}

/** Add the keys to the table of this page. */
export function askKeys() {
  keys("Requests to you", [
    ["a", "Approve the call or plan that waits", () => decide("approve"), true],
    ["d", "Deny the call, or reject the plan", () => decide("deny"), true],
    ...[1, 2, 3, 4, 5, 6, 7].map((number) => [String(number), `Choose answer ${number}`, () => decide("choose", number), true]),
  ]);
}
