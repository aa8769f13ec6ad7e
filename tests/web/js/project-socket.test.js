import { FakeBrowser } from "./fake-browser.js";
import { same, test } from "./harness.js";
import { ProjectSocket } from "../../../paca/web/static/paca/core/project-socket.js";

globalThis.location ??= { protocol: "http:", host: "test" };

/** A page of a server: it loads what the server has, and loads again what the server says has changed. */
function opened() {
  const browser = new FakeBrowser();
  const page = { stored: "first", shown: "", loads: 0, states: [] };
  const load = () => {
    page.loads += 1;
    page.shown = page.stored;
  };
  const socket = new ProjectSocket("/ws/", { load, onChanges: load, onState: (name) => page.states.push(name) }, browser);
  socket.open();
  return { browser, page, socket };
}

test("project socket lets the page load once it is told of changes, so that none comes in between", () => {
  const { browser, page } = opened();
  browser.pass(0.1);
  page.stored = "second"; // nobody is told: the server does not know this page yet
  browser.begin();
  browser.pass(10);
  same([page.shown, page.loads], ["second", 1]);
});

test("project socket that takes long does not hold up the page, which loads again when it is there", () => {
  const { browser, page } = opened();
  browser.pass(1);
  same([page.shown, page.loads], ["first", 1]);
  page.stored = "second";
  browser.begin();
  browser.pass(10);
  same([page.shown, page.loads], ["second", 2]);
});

test("project socket that is refused lets the page load at once", () => {
  const { browser, page } = opened();
  browser.link.onclose({ code: 4403 });
  same(page.loads, 1);
  browser.pass(10);
  same([page.loads, page.states], [1, ["forbidden"]]);
});

test("project socket lets the page load again after each reconnect", () => {
  const { browser, page } = opened();
  browser.begin();
  browser.link.onclose({ code: 1006 });
  page.stored = "second";
  browser.pass(1);
  browser.begin();
  same([page.shown, page.loads, page.states], ["second", 2, ["ready", "lost", "ready"]]);
});

test("project socket tells the changes of a moment together", () => {
  const { browser, page } = opened();
  browser.begin();
  for (const id of [1, 2]) browser.say({ type: "task.changed", id });
  same(page.loads, 1);
  browser.pass(1);
  same(page.loads, 2);
});

test("project socket that is closed loads nothing any more", () => {
  const { browser, page, socket } = opened();
  socket.close();
  browser.pass(10);
  same(page.loads, 0);
});
