// The keys of the asks of a page: A approves and D denies, where it is clear which ask is meant.

import { keys } from "../core/keys.js";
import "./ask-element.js";

const canDecide = (ask) => ask.isOpen && ask.isSeen;

/** The ask that has the focus, else the only one of the page. */
function meant() {
  const focused = document.activeElement?.closest?.("paca-ask");
  if (focused) return canDecide(focused) ? focused : null;
  const open = [...document.querySelectorAll("paca-ask")].filter((each) => each.isOpen);
  return open.length === 1 && canDecide(open[0]) ? open[0] : null;
}

function decide(act) {
  const ask = meant();
  if (!ask) return false;
  act(ask);
  return true;
}

/** Add the keys to the table of this page. */
export function askKeys() {
  keys("Approvals", [
    ["a", "Approve the call that waits", () => decide((ask) => ask.approve()), true],
    ["d", "Deny the call that waits", () => decide((ask) => ask.deny()), true],
  ]);
}
