// The script of every page: theme, sidebar drawer, menus, times, shortcuts. Pages work without it.

import { keys, listen, openSheet } from "./keys.js";
import { defineMenu } from "./menu.js";
import { noteServerTime } from "./time.js";
import { defineTimeElements } from "./time-elements.js";
import { defineActiveConversations } from "./active-conversations.js";
import { defineUnread } from "./unread.js";

const YEAR_SECONDS = 31_536_000;

function isDark() {
  const pinned = document.documentElement.dataset.theme;
  return pinned ? pinned === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// The server renders the theme of the cookie into <html>, so no page flashes.
function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR_SECONDS}; SameSite=Lax`;
}

/** Open or close the sidebar of a small screen; false if it was so already. */
function drawer(open) {
  const sidebar = document.getElementById("sidebar");
  if (!sidebar || sidebar.classList.contains("is-open") === open) return false;
  sidebar.classList.toggle("is-open", open);
  if (open) sidebar.querySelector("a, button").focus();
  else if (sidebar.contains(document.activeElement)) document.querySelector("[data-menu]")?.focus();
  return true;
}

/** Open the search palette, whose script is loaded when it is first needed. */
async function search() {
  const app = document.querySelector(".app[data-search]");
  if (!app) return false;
  const { openPalette } = await import("./palette.js");
  openPalette(app.dataset);
  return true;
}

addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  search();
});

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-open-search]")) search();
  else if (target.closest("[data-theme-toggle]")) switchTheme();
  else if (target.closest("[data-keys]")) openSheet();
  else if (target.closest("[data-menu]")) drawer(true);
  else if (!target.closest("#sidebar")) drawer(false);
});

function follow(selector) {
  const link = document.querySelector(selector);
  link?.click();
  return Boolean(link);
}

/** Move the focus between the rows of the page; false if it has none. */
function move(step) {
  const all = [...document.querySelectorAll("[data-row], .flow > [data-key]")];
  if (!all.length) return false;
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

keys("Everywhere", [
  ["?", "This sheet", openSheet],
  ["/", "Search conversations", () => focusSearch() || goToSearch(), true],
  ["Ctrl k", "Search everything"],
  ["c", "New conversation", () => follow("[data-new]"), true],
  ["g i", "Go to the inbox", () => follow("[data-go=i]")],
  ["g h", "Go to the overview", () => follow("[data-go=h]")],
  ["g b", "Go to the board", () => follow("[data-go=b]")],
  ["g c", "Go to conversations", () => follow("[data-go=c]")],
  ["g d", "Go to the docs", () => follow("[data-go=d]")],
  ["g m", "Go to the memory", () => follow("[data-go=m]")],
  ["g a", "Go to agents", () => follow("[data-go=a]")],
  ["g t", "Go to the team", () => follow("[data-go=t]")],
  ["g u", "Go to usage", () => follow("[data-go=u]")],
  ["g s", "Go to the settings", () => follow("[data-go=s]")],
  ["j", "Next", () => move(1)],
  ["k", "Previous", () => move(-1)],
  ["Escape", "Close what is open", () => drawer(false)],
]);

function goToSearch() {
  const list = document.querySelector("[data-go=c]");
  if (list) location.assign(`${list.href}#search`);
  return Boolean(list);
}

function focusSearch() {
  const field = document.querySelector("input[type=search]");
  field?.focus();
  return Boolean(field);
}

noteServerTime(document.querySelector("[data-server-time]")?.dataset.serverTime);
defineTimeElements();
defineMenu();
defineActiveConversations();
defineUnread();
listen();
// From now on the scripts of the page listen, too. components.css lets no button be pressed before.
document.addEventListener("DOMContentLoaded", () => { document.documentElement.dataset.ready = ""; });
if (location.hash === "#search") focusSearch();
