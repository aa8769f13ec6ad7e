// The page with the hosts of a conversation. While it is open and seen, new connections appear by themselves.

import "../core/shell.js";

const LOOK_MS = 3_000;
let shown = "";

async function look() {
  if (document.hidden) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-live]");
  if (!fresh || fresh.innerHTML === shown) return;
  shown = fresh.innerHTML;
  document.querySelector("[data-live]").replaceWith(document.importNode(fresh, true));
}

setInterval(look, LOOK_MS);
document.addEventListener("visibilitychange", look);
