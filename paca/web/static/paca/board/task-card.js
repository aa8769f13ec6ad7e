// Templates of a task: its card on the board, its priority, and the strip of the agent that works on it.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { avatar, icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { stateOf } from "../conversation/labels.js";
import { ACTIVITIES } from "../conversation/status-labels.js";

export const PRIORITIES = ["none", "low", "medium", "high", "urgent"];
const BARS = [[1, 9, 4], [5.5, 6, 7], [10, 3, 10]];
const LIT = new Map([["low", 1], ["medium", 2], ["high", 3], ["urgent", 3]]);

export function priorityIcon(priority) {
  if (!LIT.has(priority)) return nothing;
  const label = `${priority[0].toUpperCase()}${priority.slice(1)} priority`;
  return html`<svg class="prio ${priority === "urgent" ? "urgent" : ""}" viewBox="0 0 14 14" role="img" aria-label=${label}>${BARS.map(
    ([x, y, height], index) => svg`<rect x=${x} y=${y} width="3" height=${height} rx="1" class=${index < LIT.get(priority) ? "on" : ""}></rect>`,
  )}</svg>`;
}

export const CATEGORY_ICONS = new Map([
  ["backlog", ["circle-dashed", "muted"]], ["todo", ["circle", "muted"]],
  ["in_progress", ["circle-dot", "c-accent"]], ["done", ["circle-check", "c-ok"]],
]);

export function statusIcon({ category }) {
  const [name, tone] = CATEGORY_ICONS.get(category) ?? ["circle", "muted"];
  return icon(name, tone);
}

/** The strip at the foot of a card: the state of the agent on the task, what it does, and since when. */
export function liveStrip(agentState) {
  if (!agentState) return nothing;
  const { label, icon: name, tone, reason } = stateOf({ status: agentState.status, reason: agentState.reason });
  const activity = reason || (ACTIVITIES.get(agentState.activity) ?? "");
  return html`<div class="live"><span class="state s-${tone}">${icon(name)}${label}</span>
    <span class="what"><bdi>${visible([agentState.agent.name, activity].filter(Boolean).join(": "))}</bdi></span></div>`;
}

/** One card. `lifted`: it is being moved by the keyboard. */
export function taskCard(task, { href, lifted, mayWrite, selected }) {
  const waiting = task.agent_state?.status === "waiting";
  const look = [waiting && "is-waiting", (lifted || selected) && "is-selected", lifted && "is-lifted"].filter(Boolean).join(" ");
  return html`<article class="kcard ${look}" data-number=${task.number} data-row tabindex="0"
      aria-roledescription=${mayWrite ? "movable task" : nothing} aria-label="${task.key} ${visible(task.title)}">
    <div class="top">${priorityIcon(task.priority)}<span class="num">${task.key}</span>
      <span class="push avatar-stack">${task.assignees.map((member) => avatar(member, "avatar-s"))}</span></div>
    <h3><a href=${href} tabindex="-1" draggable="false"><bdi>${visible(task.title)}</bdi></a></h3>
    ${task.labels.length || task.story_points != null ? html`<div class="bottom">${task.labels.map((name) => html`<span class="badge badge-line">${visible(name)}</span>`)}
      ${task.story_points == null ? nothing : html`<span class="push num" title="Story points">${task.story_points}</span>`}</div>` : nothing}
    ${liveStrip(task.agent_state)}</article>`;
}
