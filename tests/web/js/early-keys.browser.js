// Keys and buttons that come before the answers of the server. Elements need a DOM, so these run in the browser tier only.

import { HeldServer, until } from "./held-server.js";
import { same, test } from "./harness.js";

document.body.innerHTML = '<div id="live"></div><div id="alert"></div>';
const problems = [];
addEventListener("error", ({ message }) => problems.push(message));

globalThis.WebSocket = class {
  close() {}
};

/** The element of a page, with a place for what the server wrote into it. */
function opened(name, page) {
  const element = document.createElement(name);
  element.setAttribute("page", JSON.stringify(page));
  element.innerHTML = '<p class="from-server">Loading</p>';
  document.body.append(element);
  return element;
}

const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const me = { id: "m", name: "Ada", kind: "human" };
const doc = { id: "d", title: "Untitled", text: "", version: 1, folder: null, updated_by: me, updated_at: "2026-01-01T00:00:00Z", created_at: "2026-01-01T00:00:00Z" };
const docs = { me, members: [me], mayWrite: true, mayComment: true, doc: "", urls: { docs: "/docs/", folders: "/folders/", doc: "/DOC", page: "/page/", socket: "/ws/" } };
const task = { me, number: 1, members: [me], mayWrite: true, urls: { one: "/task/", socket: "/ws/", comments: "/c/", conversations: "/r/", activity: "/a/", attachments: "/f/" } };
const address = location.href;

test("key that comes before the page has loaded does nothing, and a new doc opens once the docs are there", async () => {
  await import("../../../paca/web/static/paca/pages/docs.js");
  await import("../../../paca/web/static/paca/pages/task.js");
  const server = new HeldServer({ "POST /docs/": doc, "GET /docs/d/": doc });
  const element = opened("paca-docs", docs);
  opened("paca-task", task);
  press("e");
  same(problems, []);
  const made = element.newDoc();
  element.flush();
  same(element.querySelector(".from-server")?.textContent, "Loading");
  server.letGo();
  await made;
  history.replaceState(null, "", address);
  same((await until(() => element.querySelector(".editor input"))).value, "Untitled");
});
