// Rows need a DOM, so these run in the browser tier only.

import { check, same, test } from "./harness.js";
import { Log } from "./logs.js";
import { html, render } from "../../../paca/web/static/vendor/lit-html/lit-html.js";
import { repeat } from "../../../paca/web/static/vendor/lit-html/directives/repeat.js";
import { GrowingMarkdown } from "../../../paca/web/static/paca/core/markdown.js";
import { rowTemplate } from "../../../paca/web/static/paca/conversation/rows.js";
import { rows } from "../../../paca/web/static/paca/conversation/row-selectors.js";
import { fold, initialState } from "../../../paca/web/static/paca/conversation/reduce.js";

const OBJECT_NAMES = Object.getOwnPropertyNames(Object.prototype);

class Page {
  place = document.createElement("div");
  state = initialState({ status: "running" });
  prose = new Map();

  show(frames) {
    this.state = fold(this.state, frames);
    render(html`${repeat(rows(this.state), (row) => row.key, (row) => rowTemplate(row, this.context))}`, this.place);
    return [...this.place.querySelectorAll("[data-key]")];
  }

  context = {
    agent: { id: "a", name: "Rosa", kind: "agent" }, me: { id: "m", name: "Ada", kind: "human" }, members: new Map(),
    mayWrite: true, demo: false, model: "", settingsUrl: "", api: "/c/", acts: {}, isOpen: () => true, onToggle() {},
    prose: (key, text, done) => {
      if (text === "break") throw new Error("broken on purpose");
      if (!this.prose.has(key)) this.prose.set(key, new GrowingMarkdown());
      return this.prose.get(key).update(text, done);
    },
  };
}

const added = (log) => log.frames.splice(0);

test("row that cannot be rendered is shown as plain text, and rows around it as usual", () => {
  const log = new Log().message("Hi").begin().say("**first**").say("break").say("**last**");
  const page = new Page();
  check(page.show(added(log)).length >= 4);
  check(page.place.textContent.includes("Shown as plain text"));
  same([...page.place.querySelectorAll("strong")].map((each) => each.textContent), ["first", "last"]);
  const later = page.show(added(log.say("**later**")));
  check(later.some((row) => row.textContent.includes("later")));
});

test("row that breaks while it is live comes back with its stored text", () => {
  const log = new Log().message("Hi").begin();
  const page = new Page();
  page.show(added(log));
  page.show(added(log.live("text.streamed", { call_id: "c", offset: 0, text: "break" })));
  check(page.place.textContent.includes("Shown as plain text"));
  page.show(added(log.add("message.spoken", { call_id: "c", text: "**mended**" })));
  check(!page.place.textContent.includes("Shown as plain text"));
  same(page.place.querySelector("strong").textContent, "mended");
});

test("value that lit-html cannot write breaks its own row only", () => {
  const log = new Log().message("Hi").begin();
  const page = new Page();
  log.add("model.retried", { attempt: 1, wait_seconds: Object.create(null), cause: Object.create(null), call_id: "x" });
  log.say("**after**");
  page.show(added(log));
  same(page.place.querySelector("strong").textContent, "after");
});

test("tool named like a property of objects is shown like any other tool", () => {
  for (const name of OBJECT_NAMES) {
    const log = new Log().message("Hi").begin();
    log.use(name, { [name]: name, command: { deep: [name] } }, { failed: true, cause: name, output: "Told." }, { effect: "read_only", subject: name });
    log.call(name, {}, {});
    log.say("**after**");
    const page = new Page();
    page.show(added(log));
    check(!page.place.textContent.includes("Shown as plain text"), name);
    check(page.place.textContent.includes(`Called ${name}`), name);
    same(page.place.querySelector("strong").textContent, "after");
  }
});

test("type, status, reason or language named like a property of objects harms nothing", () => {
  for (const name of OBJECT_NAMES) {
    const log = new Log().message("Hi").begin();
    log.frames.push({ type: name, seq: log.seq += 1, at: log.frames[0].at, source: "agent", turn: 1, data: {} });
    log.add("guard.noticed", { guard: name, note: "note" }).add("limit.reached", { which: name, limit: 3 });
    log.say(`\`\`\`${name}\ncode\n\`\`\``).finish("paused", name);
    const page = new Page();
    page.show(added(log));
    check(!page.place.textContent.includes("Shown as plain text"), name);
    check(page.place.textContent.includes("Paused."), name);
  }
});

test("arguments of any type are shown", () => {
  for (const value of [null, 5, ["a"], { b: 1 }, true]) {
    const log = new Log().message("Hi").begin();
    log.use("bash", { command: value }, {}, { subject: "x" }).use("think", { thought: value }, {}, {});
    log.use("write_file", { content: value }, { output: "Done." }, { subject: "f" }).use("edit_file", value, { output: "Done." }, { subject: "f" });
    const page = new Page();
    page.show(added(log));
    check(!page.place.textContent.includes("Shown as plain text"), JSON.stringify(value));
  }
});

test("facts that do not fit are shown as they are, and later events are applied", () => {
  const log = new Log().message("Hi").begin();
  log.add("tool.called", { call_id: "t", tool: "bash", arguments: { command: "ls" }, effect: "opaque", subject: "ls" });
  log.add("tool.progressed", { call_id: "t", offset: 0, text: null });
  log.add("message.spoken", { call_id: "c", text: null });
  const page = new Page();
  page.show(added(log.say("**after**")));
  same(page.place.querySelector("strong").textContent, "after");
});

test("long output has a link to all of it, if it is kept", () => {
  const log = new Log().message("Hi").begin();
  log.use("bash", { command: "yes" }, { output: "y", truncated: true, file: "x", full_output_bytes: 52_428_800 });
  log.use("bash", { command: "yes" }, { output: "y", truncated: true, file: "x", full_output_bytes: 0 });
  const page = new Page();
  page.show(added(log));
  const links = [...page.place.querySelectorAll(".tool-foot a")].map((link) => [link.getAttribute("href"), link.textContent]);
  same(links, [["/c/calls/tool-1/output/", "Full output, 52.4 MB"]]);
  check(page.place.textContent.includes("The full output is in x in the sandbox."));
});

test("live output follows its end until the reader scrolls up", async () => {
  const log = new Log().message("Hi").begin();
  const page = new Page();
  page.place.className = "flow";
  document.body.append(page.place);
  const id = log.call("bash", { command: "count" });
  log.add("tool.started", { call_id: id, boot_id: "b" });
  page.show(added(log));
  let offset = 0;
  const print = (count) => {
    const text = Array.from({ length: count }, (_, line) => `tick ${offset + line}\n`).join("");
    page.show(added(log.live("tool.progressed", { call_id: id, offset, text })));
    offset += text.length;
  };
  print(40);
  const area = page.place.querySelector("paca-follow-end pre");
  area.style.maxHeight = "100px";
  area.style.overflow = "auto";
  const settled = () => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
  const hidden = () => area.scrollHeight - area.scrollTop - area.clientHeight;
  print(40);
  await settled();
  check(hidden() < 2, `${hidden()} px below`);
  area.scrollTop = 0;
  await settled();
  print(20);
  await settled();
  same(area.scrollTop, 0);
  print(100);
  area.scrollTop = 2000;
  await settled();
  const atTop = () => {
    const line = Math.floor(area.scrollTop / parseFloat(getComputedStyle(area).lineHeight));
    return area.textContent.split("\n")[line];
  };
  const read = atTop();
  print(30);
  await settled();
  same(atTop(), read, "the lines that are read stay in place");
  area.scrollTop = area.scrollHeight;
  await settled();
  print(20);
  await settled();
  check(hidden() < 2, `${hidden()} px below`);
  page.place.remove();
});
