// The panel beside the flow, which is a tab on a phone: the approved plan and the agent's to-do list. It is loaded once
// there is one of them.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";

const ROOM = matchMedia("(min-width: 1121px)"); // as in pages.css: below it the panel covers the flow
const ICONS = new Map([["open", "circle"], ["now", "loader-circle"], ["done", "circle-check"]]);
// The icon of the present item while nobody works on it.
const RESTING = new Map([["waiting", "hand"], ...["paused", "finished", "failed", "stopped"].map((status) => [status, "circle-dot"])]);
const WORDS = new Map([["open", "Open"], ["now", "Now"], ["done", "Done"]]);

/** Whether the panel is shown on a wide page: as the reader wants it, else where there is a list and room. */
export function isOpen({ panelOpen, run }) {
  return panelOpen ?? (Boolean(run.todo || run.plan) && ROOM.matches);
}

/** The classes of the element around the flow and the panel. */
export function classes(view) {
  return isOpen(view) ? "has-panel" : "";
}

/** The panel itself. On a phone the tabs show it. */
export function panel(view) {
  const { todo, plan } = view.run;
  return html`<aside class="panel" aria-label=${plan ? "Plan and to-do list" : "To-do list"}>
    ${plan ? planSection(plan, view.run) : nothing}
    ${plan && !todo ? nothing : html`<section class="panel-sec"><header><h2>To do</h2>${todo ? html`<span class="n num">${doneOf(todo)} of ${todo.items.length}</span>` : nothing}</header>
      ${todo ? html`<ol class="todo">${todo.items.map((item) => line(item, todo.since, view.run))}</ol>` : empty(view.page.agent)}
    </section>`}</aside>`;
}

/** The approved plan, whose steps tick. */
function planSection({ title, steps }, run) {
  const done = steps.filter(({ state }) => state === "done").length;
  return html`<section class="panel-sec is-plan"><header><h2>Plan</h2><span class="n num">${done} of ${steps.length}</span></header>
    <p class="text-2 plan-title"><bdi>${visible(title)}</bdi></p>
    <ol class="todo">${steps.map(({ text, state }) => line({ text, state: state === "started" ? "now" : state }, "", run))}</ol></section>`;
}

function line({ text, state }, since, { status }) {
  const isNow = state === "now";
  // Nobody works on it while the conversation waits or has ended.
  const name = (isNow && RESTING.get(status)) || ICONS.get(state) || "circle";
  return html`<li class=${ICONS.has(state) ? state : "open"} data-run=${status}>${icon(name)}
    <span><span class="sr">${WORDS.get(state) ?? "Open"}: </span><bdi>${visible(text)}</bdi></span>${
      isNow && since && status === "running" ? html`<paca-since class="small num" at=${since}></paca-since>` : nothing}</li>`;
}

function empty({ name }) {
  return html`<p class="text-2 todo-empty">No to-do list yet. ${visible(name)} writes one when the work has several steps.</p>`;
}

/** The tabs of a phone, which has no room for both. */
export function phoneTabs(view) {
  const { todo, plan } = view.run;
  const count = todo ? html` <span class="n num">${doneOf(todo)}/${todo.items.length}</span>` : nothing;
  return html`<div class="phone-tabs" role="group" aria-label="View">
    ${tab(view, "chat", "Conversation")}${tab(view, "todo", html`${plan ? "Plan" : "To do"}${count}`)}</div>`;
}

function tab(view, name, label) {
  const chosen = view.phoneView === name;
  return html`<button type="button" class="phone-tab" aria-pressed=${chosen} @click=${() => {
    view.phoneView = name;
    view.update();
  }}>${label}</button>`;
}

const doneOf = ({ items }) => items.filter(({ state }) => state === "done").length;
