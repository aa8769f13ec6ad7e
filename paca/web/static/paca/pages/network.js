// The page with the hosts of a conversation. While it is open and seen, it loads again when there are new connections.

import "../core/shell.js";

const LOOK_MS = 3_000;
const live = document.querySelector("[data-live]");

function stamp({ results, sent_bytes: sent, received_bytes: received }) {
  return `${results.reduce((sum, use) => sum + use.connections, 0)} ${sent} ${received}`;
}

async function look() {
  if (document.hidden) return;
  const answer = await fetch(live.dataset.live).catch(() => null);
  if (answer?.ok && stamp(await answer.json()) !== live.dataset.stamp) location.reload();
}

setInterval(look, LOOK_MS);
document.addEventListener("visibilitychange", look);
