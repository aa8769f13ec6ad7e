import { FakeBrowser } from "./fake-browser.js";
import { check, same, test } from "./harness.js";
import { Socket } from "../../../paca/web/static/paca/core/socket.js";
import { noteServerTime, serverNow } from "../../../paca/web/static/paca/core/time.js";

function connected() {
  const browser = new FakeBrowser();
  const states = [];
  const socket = new Socket(() => "ws://test/", { frame() {}, state: (name) => states.push(name) }, browser);
  socket.connect();
  browser.begin();
  return { browser, states, socket };
}

test("silent link is noticed within 30 seconds, said, and replaced", () => {
  const { browser, states } = connected();
  browser.pass(30);
  same(states[0], "lost");
  browser.pass(1);
  check(browser.links.length > 1, "the page did not connect again");
});

test("quiet link that answers its pings stays open for ever", () => {
  const { browser, states } = connected();
  for (let second = 0; second < 600; second += 1) {
    browser.pass(1);
    const pings = browser.link.sent.length;
    if (pings > (browser.answered ?? 0)) {
      browser.answered = pings;
      browser.say({ type: "pong", at: new Date().toISOString() });
    }
  }
  same([states, browser.links.length], [[], 1]);
  check(browser.answered > 30);
});

test("link with frames is not pinged", () => {
  const { browser } = connected();
  for (let second = 0; second < 60; second += 1) {
    browser.pass(1);
    browser.say({ type: "agent.text.streamed" });
  }
  same(browser.link.sent, []);
});

test("tab that is woken once a minute keeps its link", () => {
  const { browser, states } = connected();
  for (let minute = 0; minute < 5; minute += 1) {
    browser.time += 55_000; // nothing acts meanwhile: the browser throttles hidden tabs
    for (const timer of browser.timers.values()) timer.at = Math.max(timer.at, browser.time);
    browser.pass(5);
    if (browser.link.sent.length) browser.say({ type: "pong" });
  }
  same(states, []);
});

test("attempt to connect that nothing answers is given up, and the next one begins", () => {
  const browser = new FakeBrowser();
  const states = [];
  new Socket(() => "ws://test/", { frame() {}, state: (name) => states.push(name) }, browser).connect();
  browser.pass(20);
  same(states[0], "lost");
  check(browser.links.length > 1);
});

test("late frames and the end of an abandoned link are ignored", () => {
  const { browser, states } = connected();
  const [dead] = browser.links;
  browser.pass(31);
  browser.begin();
  const told = states.length;
  dead.onclose({ code: 1006 });
  same(states.length, told);
});

test("server clock decides the time that the page shows", () => {
  const now = Date.parse("2026-01-05T12:00:00Z"); // this computer is three hours ahead
  noteServerTime("2026-01-05T09:00:00Z", now);
  same(serverNow(now + 10_000).toISOString(), "2026-01-05T09:00:10.000Z");
  noteServerTime("2026-01-05T09:00:11Z", now + 10_500); // half a second on its way
  same(serverNow(now + 20_000).toISOString(), "2026-01-05T09:00:20.000Z");
  noteServerTime("not a time", now);
  same(serverNow(now).toISOString(), "2026-01-05T09:00:00.000Z");
});
