// Gives the focus back after a page was loaded again: to the control that had it, or to the one in its place.

import { load, save } from "./tab-storage.js";

const CONTROLS = "#main :is(a[href], button, input, select, textarea, summary)";
const key = () => `focus:${location.pathname}`;

/** Keep in mind which control has the focus. Call it before the page is loaded again. */
export function noteFocus() {
  const { activeElement: element } = document;
  const index = [...document.querySelectorAll(CONTROLS)].indexOf(element);
  if (index < 0) return;
  const form = element.type === "submit" ? element.form?.dataset.api : undefined;
  save(key(), { index, id: element.id, label: element.getAttribute("aria-label"), api: element.dataset.api, form });
}

/** Focus the control that had the focus before the page was loaded again. */
export function refocus() {
  const noted = load(key(), null);
  save(key(), null);
  if (!noted) return;
  const all = [...document.querySelectorAll(CONTROLS)];
  const same = all.find((each) => (noted.id && each.id === noted.id) || (noted.api && each.dataset.api === noted.api)
    || (noted.label && each.getAttribute("aria-label") === noted.label)
    || (noted.form && each.type === "submit" && each.form?.dataset.api === noted.form));
  const found = same ?? all[Math.min(noted.index, all.length - 1)];
  const folded = found?.closest("details:not([open])");
  // A fold that somebody works in stays open. A form that was sent is done with, and what is beside it was not opened.
  if (folded && same && !noted.form) folded.open = true;
  (folded && !folded.open ? folded.querySelector("summary") : found)?.focus();
}
