// The section of MCP servers: fields of the chosen transport, pasted JSON, sign-in and test.

import { ApiError, call, newClientId } from "../core/api.js";
import { ask } from "../core/dialog.js";
import { noteFocus } from "../core/refocus.js";
import { visible } from "../core/terminal.js";

const OPEN = "details.role";

/** Show the fields of the chosen transport. The others are not sent. */
function showFields(form) {
  const { value: transport } = form.querySelector("[data-mcp-transport]");
  for (const part of form.querySelectorAll("[data-mcp-when]")) {
    part.hidden = !part.dataset.mcpWhen.split(" ").includes(transport);
    for (const field of part.querySelectorAll("input, select, textarea")) field.disabled = part.hidden;
  }
  const oauth = form.querySelector("[data-mcp-oauth]");
  oauth.hidden = form.querySelector("[data-mcp-auth]").value !== "oauth";
}

for (const form of document.querySelectorAll("[data-mcp-form]")) {
  showFields(form);
  form.addEventListener("change", () => showFields(form));
}

function reload() {
  noteFocus();
  location.reload();
}

/** Do something that takes a while, with a word on it; what went wrong is said beside the button. */
async function work(button, words, act) {
  const line = button.closest(OPEN).querySelector("[data-mcp-said]");
  button.disabled = true;
  line.hidden = false;
  line.className = "hint";
  line.textContent = words;
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    line.textContent = visible(Object.values(error.fields).flat().join(" ") || error.message);
    line.className = "hint c-bad";
  }
  button.disabled = false;
}

document.addEventListener("click", ({ target }) => {
  const test = target.closest("[data-mcp-test]");
  if (test) work(test, "Connecting…", async () => {
    await call("POST", test.dataset.mcpTest, {});
    reload(); // with its health and tools
  });
  const signIn = target.closest("[data-mcp-sign-in]");
  if (signIn) work(signIn, "Looking for its sign-in service…", async () => {
    const { authorization_url: url } = await call("POST", signIn.dataset.mcpSignIn, {});
    const { host } = new URL(url);
    const goes = await ask({
      title: `Sign in at ${host}?`, text: `You leave Paca and come back when ${host} knows you. ${signIn.dataset.name} can then be used by this agent in your name.`,
      yes: `Go to ${host}`, danger: false,
    });
    signIn.closest(OPEN).querySelector("[data-mcp-said]").hidden = true;
    if (goes) location.assign(url);
  });
});

/** The errors of the pasted JSON, each with its place. */
function showErrors(list, error) {
  const rows = Object.entries(error.fields).flatMap(([place, texts]) => texts.map((text) => `${place}: ${text}`));
  list.replaceChildren(...(rows.length ? rows : [error.message]).map((text) => {
    const item = document.createElement("li");
    item.textContent = visible(text);
    return item;
  }));
  list.hidden = false;
  document.getElementById("alert").textContent = "Nothing was added.";
}

for (const form of document.querySelectorAll("[data-mcp-import]")) {
  let key = newClientId();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const list = form.querySelector("[data-mcp-errors]");
    const field = form.querySelector("textarea");
    list.hidden = true;
    try {
      await call("POST", form.dataset.mcpImport, JSON.parse(field.value), { idempotencyKey: key });
      reload();
    } catch (error) {
      if (error instanceof SyntaxError) showErrors(list, { fields: {}, message: `This is no JSON: ${error.message}` });
      else if (error instanceof ApiError) showErrors(list, error);
      else throw error;
      if (error.status && error.status < 500) key = newClientId();
      field.focus();
    }
  });
}
