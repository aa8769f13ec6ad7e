// Templates of the rows of a task's timeline: activity and the runs of agents.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { avatar, icon } from "../core/icons.js";
import { plainText } from "../core/markdown.js";
import { visible } from "../core/terminal.js";
import { goesOnByItself, stateOf } from "../conversation/labels.js";
import { ACTIVITIES } from "../conversation/status-labels.js";

export function rowOf(row, host) {
  if (row.kind === "comment") return host.discussion.thread(row);
  return row.kind === "run" ? runRow(row.run, host) : activityRow(row, host);
}

function activityRow({ actor, at, phrases, conversation }, host) {
  const [first, ...rest] = phrases;
  return html`<div class="t-row"><span class="node">${icon(actor?.kind === "agent" ? "bot" : "pencil")}</span>
    <b><bdi>${visible(actor?.name ?? "Paca")}</bdi></b> ${phrase(first)}${rest.map((each) => html`, ${phrase(each)}`)} <time><paca-when at=${at}></paca-when></time>
    ${conversation && host.page.mayReadConversations ? html` <a class="link" href=${host.conversationUrl(conversation)}>Watch</a>` : nothing}</div>`;
}

function phrase({ verb, from, to }) {
  return html`${verb}${to === undefined ? nothing : html` <b><bdi>${visible(to)}</bdi></b>`}${from === undefined ? nothing : html` <span class="muted">(was <bdi>${visible(from)}</bdi>)</span>`}`;
}

// --- runs -----------------------------------------------------------------------------------------

/** What the agent said last, shortened by the style sheet; the conversation has all of it. */
function lastWords({ last_words: words, agent }) {
  if (!words) return nothing;
  return html`<p class="run-said" dir="auto"><span class="sr">${visible(agent.name)} said last: </span>${guard([words], () => plainText(words))}</p>`;
}

function runRow(run, host) {
  const { label, icon: name, tone, reason } = stateOf({ status: run.status, reason: run.reason, waitsFor: run.waits_for });
  const live = goesOnByItself(run) || run.status === "waiting";
  const words = live && run.waits_for !== "start" ? ACTIVITIES.get(run.activity) ?? "" : "";
  return html`<div class="t-row">${avatar({ ...run.agent, kind: "agent" })}<section class="run ${live ? "is-live" : ""}" aria-label="Work of ${visible(run.agent.name)}">
    <div class="run-head"><span class="state s-${tone}">${icon(name)}${label}</span><b class="clip"><bdi>${visible(run.agent.name)}</bdi> ${live ? "works on this task" : "worked on this task"}</b>
      ${run.status === "running" && run.started_at ? html`<span class="num muted"><paca-since at=${run.started_at}></paca-since></span>` : html`<time><paca-when at=${run.updated_at}></paca-when></time>`}
      <span class="push row">${run.waits_for === "start" && host.page.mayChat ? html`<button type="button" class="btn btn-s btn-primary" @click=${() => host.start(run)}>Start</button>` : nothing}${live && host.page.mayChat ? html`<button type="button" class="btn btn-s" @click=${() => host.stop(run)}>${icon("square")}Stop</button>` : nothing}
        <a class="btn btn-s" href=${host.conversationUrl(run.id)}>${live ? "Watch" : "Open"}${icon("arrow-right")}</a></span></div>
    ${lastWords(run)}
    ${reason || words ? html`<div class="run-words">${[reason, visible(words)].filter(Boolean).join(": ")}</div>` : nothing}
    ${run.status === "failed" && run.detail ? html`<div class="run-words"><bdi>${visible(run.detail)}</bdi></div>` : nothing}</section></div>`;
}
