// The script of the conversation page: its element and its keyboard shortcuts.

import { keys } from "../core/keys.js";
import "../core/shell.js";
import "../conversation/conversation-element.js";


const view = () => document.querySelector("paca-conversation");

keys("Conversation", [
  ["Escape", "Leave the field; press again to stop the agent", () => view().stop()],
  ["e", "Open or close all steps", () => view().toggleAll(), true],
  ["]", "Show or hide the to-do list", () => view().togglePanel(), true],
  ["f", "Show or hide the files of the sandbox", () => { view().toggleFiles(); }, true],
  ["i", "Write a message", () => {
    const { field } = view();
    field?.focus();
    return Boolean(field);
  }, true],
  ["Enter", "Send, or queue while the agent works"],
  ["Shift Enter", "New line"],
  ["ArrowUp", "In an empty field: edit your last queued message"],
  ["Ctrl Enter", "Interrupt the agent with what you wrote"],
]);
