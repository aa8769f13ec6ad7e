// The script of a task's page: its element and its keyboard shortcuts.

import { keys } from "../core/keys.js";
import "../core/shell.js";
import "../task/task-element.js";

const task = () => document.querySelector("paca-task");

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-delete-task]") && task().data.task) task().remove();
});

keys("Task", [
  ["e", "Edit the description", () => {
    if (!task().page.mayWrite || !task().loaded || task().description.editing) return false;
    task().description.edit();
    return true;
  }],
  ["m", "Write a comment", () => {
    const field = task().querySelector(".task-in > .comment-box textarea");
    field?.focus();
    return Boolean(field);
  }],
  ["Ctrl Enter", "Send the comment"],
  ["Ctrl s", "Save the description"],
]);
