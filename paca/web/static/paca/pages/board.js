// The script of the board: its element and its keyboard shortcuts.

import { keys } from "../core/keys.js";
import "../core/shell.js";
import "../board/board-element.js";

const board = () => document.querySelector("paca-board");

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-new-task]")) board().startCreating();
});

keys("Board", [
  ["n", "New task", () => {
    if (!board().page.mayWrite) return false;
    board().startCreating();
    return true;
  }],
  [" ", "Lift or drop the task that has the focus"],
  ["ArrowRight", "Move a lifted task"],
  ["Enter", "Open the task"],
]);
