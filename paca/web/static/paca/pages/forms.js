// The script of pages with forms that call the API: team, agents and settings.

import "../core/shell.js";
import { handleOf, listenToApiForms } from "../core/api-form.js";

listenToApiForms();

// A secret or a link that is shown once: it is copied with one click.
document.addEventListener("paca:done", (event) => {
  const shown = event.target.querySelector("[data-shown-once]");
  const secret = event.detail?.link ?? event.detail?.token ?? event.detail?.secret;
  if (!shown || !secret) return;
  event.preventDefault();
  shown.hidden = false;
  shown.querySelector("input").value = secret;
  shown.querySelector("input").select();
});

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy-field]");
  if (!button) return;
  const field = button.parentElement.querySelector("input, textarea");
  field.select();
  await navigator.clipboard?.writeText(field.value);
  button.textContent = "Copied";
});

// "Rosa Parks" gives the handle "rosa-parks", until the handle is written by hand.
const name = document.querySelector("[data-names-handle]");
const handle = document.querySelector("[data-handle]");
if (name && handle) {
  let written = Boolean(handle.value);
  handle.addEventListener("input", () => { written = Boolean(handle.value); });
  const follow = () => {
    if (!written) handle.value = handleOf(name.value);
  };
  name.addEventListener("input", follow);
  follow(); // what was typed before this script ran
}

// The connection test: asks the model for one word and shows what came.
for (const button of document.querySelectorAll("[data-test]")) {
  button.addEventListener("click", async () => {
    const { call } = await import("../core/api.js");
    const line = document.getElementById(button.dataset.shows);
    button.disabled = true;
    line.textContent = "Testing…";
    try {
      const { works, detail, seconds } = await call("POST", button.dataset.test);
      line.textContent = works ? `Works: answered in ${seconds.toFixed(1)} s.` : detail;
      line.className = works ? "hint c-ok" : "hint c-bad";
    } catch (error) {
      line.textContent = error.message;
    }
    button.disabled = false;
  });
}
