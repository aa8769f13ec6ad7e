// The script of the docs: its element and its keyboard shortcuts.

import { keys } from "../core/keys.js";
import "../core/shell.js";
import "../docs/docs-element.js";

const docs = () => document.querySelector("paca-docs");

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-new-doc]")) docs().newDoc();
});

keys("Docs", [
  ["n", "New doc", () => {
    if (!docs().page.mayWrite) return false;
    docs().newDoc();
    return true;
  }],
  ["e", "Edit the doc", () => {
    if (!docs().page.mayWrite || !docs().doc?.doc) return false;
    docs().doc.edit();
    return true;
  }],
  ["Ctrl s", "Save the doc"],
]);
