// The page of one conversation: its element and its keys.

import { keys } from "../core/keys.js";
import "../core/shell.js";
import "../conversation/view.js";

const view = () => document.querySelector("paca-conversation");

keys("Conversation", [
  ["Escape", "Leave the field; again: stop the run", () => view().stop()],
  ["e", "Open or close all steps", () => view().toggleAll()],
  ["i", "Write", () => {
    const { field } = view();
    field?.focus();
    return Boolean(field);
  }],
  ["Enter", "Send, or queue while the agent works"],
  ["Shift Enter", "New line"],
  ["Ctrl Enter", "Interrupt the agent with what you wrote"],
]);
