// Enter that is pressed before the answer to the typed words is there: it means what they find, not what was shown before.

import { HeldServer, until } from "./held-server.js";
import { same, test } from "./harness.js";
import { render } from "../../../paca/web/static/vendor/lit-html/lit-html.js";
import { openPalette } from "../../../paca/web/static/paca/core/palette.js";
import { TaskPicker } from "../../../paca/web/static/paca/task/task-picker.js";

function type(field, words) {
  field.value = words;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

const enter = (field) => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));

async function palette() {
  const pressed = [];
  for (const [name, label] of [["themeToggle", "Theme"], ["keys", "Keyboard"]]) {
    const button = document.createElement("button");
    button.dataset[name] = "";
    button.textContent = label;
    button.addEventListener("click", () => pressed.push(label));
    document.body.append(button);
  }
  const server = new HeldServer({});
  openPalette({ search: "/search/", pages: "[]" });
  const field = document.querySelector("dialog.palette input");
  type(field, "keyb");
  enter(field);
  same(pressed, []);
  server.letGo();
  await until(() => pressed.length);
  same(pressed, ["Keyboard"]);
  const cancelled = new HeldServer({});
  openPalette({ search: "/search/", pages: "[]" });
  type(field, "them");
  enter(field);
  document.querySelector("dialog.palette").close();
  await until(() => cancelled.isAsked);
  cancelled.letGo();
  await until(() => field.closest("dialog").querySelector("[role=option]")?.textContent.includes("Theme"));
  same(pressed, ["Keyboard"]);
}

async function picker() {
  const place = document.createElement("div");
  document.body.append(place);
  const taken = [];
  const host = { page: { urls: { tasks: "/tasks/" }, number: 9 }, announcer: { alert() {} }, update: () => render(shown.template(), place) };
  const shown = new TaskPicker(host, { field: "parent", label: "Parent", take: async ({ key }) => { taken.push(key); } });
  host.update();
  const field = place.querySelector("input");
  new HeldServer({ "GET /tasks/": { results: [{ number: 1, key: "A-1", title: "First" }] } }).letGo();
  type(field, "A-1");
  await until(() => place.querySelector("[role=option]"));
  const server = new HeldServer({ "GET /tasks/": { results: [{ number: 12, key: "A-12", title: "Twelfth" }] } });
  type(field, "A-12");
  enter(field);
  same(taken, []);
  server.letGo();
  await until(() => taken.length);
  same(taken, ["A-12"]);
}

test("palette and field for a task take what the typed words find, also if Enter comes before it", async () => {
  await palette();
  await picker();
});
