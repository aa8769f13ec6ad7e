// The lanes of the helpers and teammates above the composer: what each does now, its cost, its Stop, and its approvals. Loaded once there is one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { icon, iconButton } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { ACTIVITIES } from "./status-labels.js";
import { stateOf } from "./labels.js";

const READ_EVERY_MS = 1000; // a helper tells each step, and the list is read again at most so often
const ICONS = new Map([["general", "bot"], ["explore", "search"], ["plan", "list-checks"], ["code", "pencil"], ["research", "file-text"]]);
const TEAM_ENDS = new Map([["idle", "without work"], ["shutdown", "asked to"], ["unreviewed", "nobody reviewed its plan"], ["limit", "at a limit"]]);
const ENDED = new Set(["finished", "failed", "stopped"]);

export class HelperLanes {
  #view;
  #asks;
  #helpers = null; // null until they are read
  #failed = false;
  #order = new AnswerOrder();
  #seen = new Set(); // helpers of a call that this page has seen waiting: others are history
  #hidden = false;
  #open = matchMedia("(min-width: 760px)").matches; // a phone has no room for it
  #timer = 0;
  #stopping = new Set();
  #stoppingAll = false;

  /** `view` is the <paca-conversation>. */
  constructor(view) {
    this.#view = view;
    this.refresh();
  }

  /** Read the helpers again. */
  refresh = async () => {
    try {
      await this.#order.read(() => call("GET", `${this.#view.page.urls.api}helpers/`), ({ results }) => { this.#helpers = results; });
      this.#failed = false;
      const results = this.#helpers;
      const newest = this.#view.run.reason === "helpers" ? results.at(-1)?.call_id : null;
      for (const each of results) if (lives(each) || each.call_id === newest) this.#seen.add(each.id);
      if (results.some(({ approval }) => approval)) this.#asks ??= await import("../asks/asks.js");
    } catch {
      this.#failed = true;
    }
    this.#view.update();
  };

  /** Take a frame of a helper. */
  received({ type, data }) {
    if (type === "agent.subagent.started") this.#seen.add(data.subagent_id);
    if (type === "agent.subagent.started" || data.state === "working") this.#hidden = false;
    const mine = this.#helpers?.find(({ id }) => id === data.subagent_id);
    if (mine && type === "agent.subagent.progressed") {
      Object.assign(mine, { status: data.status, activity: data.activity || mine.activity });
      if (data.tool) Object.assign(mine, { tool: data.tool, subject: data.subject });
      this.#view.update();
    }
    this.#timer ||= setTimeout(() => { this.#timer = 0; this.refresh(); }, READ_EVERY_MS);
  }

  #stop = async (helper) => {
    this.#stopping.add(helper.id);
    this.#view.update();
    await this.#view.reportErrors(() => call("POST", `${this.#api(helper)}stop/`, {}));
    await this.refresh();
  };

  #stopAll = async () => {
    this.#stoppingAll = true;
    this.#view.update();
    await this.#view.reportErrors(() => call("POST", `${this.#view.page.urls.api}stop/`, {}));
    this.#stoppingAll = false;
    await this.refresh();
  };

  #api({ id }) {
    return this.#view.page.urls.api.replace(this.#view.page.conversation.id, id);
  }

  #toggled = (event) => {
    this.#open = event.currentTarget.open;
  };

  #close = () => {
    this.#hidden = true;
    this.#view.update();
  };

  template() {
    if (this.#failed) return html`<p class="composer-note" role="alert">${icon("circle-alert")}The helpers could not be read.
      <button type="button" class="btn btn-s" @click=${this.refresh}>Try again</button></p>`;
    const shown = (this.#helpers ?? []).filter(({ id }) => this.#seen.has(id));
    if (this.#hidden || !shown.length) return nothing;
    const working = shown.filter(lives).length;
    const noun = shown.every(({ team }) => team) ? "teammates" : "helpers";
    const needed = shown.filter(({ approval }) => approval).length;
    const words = needed ? `${needed} of ${shown.length} ${noun} ${needed === 1 ? "needs" : "need"} you` : working ? `${shown.filter(atWork).length} of ${shown.length} ${noun} at work` : `The ${noun} have ended`;
    return html`<section class="background-strip helper-lanes composer-note" aria-label="Helpers">
      <details ?open=${this.#open || needed > 0} @toggle=${this.#toggled}>
        <summary>${icon("users")}<span aria-live="polite">${words}</span>${icon("chevron-down", "chevron")}</summary>
        <ul>${shown.map((each) => this.#lane(each))}</ul>
      </details>
      ${working ? this.#stopAllButton() : iconButton("x", "Close", this.#close)}</section>`;
  }

  /** After the answer of the lead the bar above has no Stop, and its team works on. */
  #stopAllButton() {
    const { page, run } = this.#view;
    if (!page.mayWrite || !(ENDED.has(run.status) || run.status === "paused")) return nothing;
    return html`<button type="button" class="btn btn-s" ?disabled=${this.#stoppingAll} @click=${this.#stopAll}>${icon("circle-stop")}${this.#stoppingAll ? "Stopping…" : "Stop all"}</button>`;
  }

  #lane(helper) {
    const { id, usage, approval, team } = helper;
    const [kind, task] = team ? [team.name, team.role] : [helper.kind, helper.task];
    const { page } = this.#view;
    const cost = usage.priced_cost_usd ? `$${usage.priced_cost_usd.toFixed(2)}` : `${(usage.input + usage.output).toLocaleString("en")} tokens`;
    return html`<li data-state=${atWork(helper) ? "running" : "ended"} id=${`helper-${id}`}>
      <div class="background-head">${icon(ICONS.get(kind) ?? "bot")}<b>${visible(kind)}</b>
        <a href=${location.pathname.replace(page.conversation.id, id)} title=${visible(task)}><bdi>${visible(task)}</bdi></a>
        <span class="background-state num">${cost}</span>
        ${lives(helper) && page.mayWrite ? html`<button type="button" class="btn btn-s" ?disabled=${this.#stopping.has(id)}
          aria-label=${`Stop the ${team ? "teammate" : "helper"}: ${visible(team ? kind : task)}`} @click=${() => this.#stop(helper)}>${icon("circle-stop")}${this.#stopping.has(id) ? "Stopping…" : "Stop"}</button>` : nothing}</div>
      <p class="small text-2">${doing(helper)}</p>
      ${approval && this.#asks ? this.#asks.card(approval, { base: this.#api(helper), agent: page.agent.name, mayDecide: page.mayApprove, onDecided: this.refresh }) : nothing}</li>`;
  }
}

/** Whether it works or may still be woken. */
const lives = (each) => (each.team ? each.team.state !== "ended" : atWork(each));
const atWork = ({ status }) => !ENDED.has(status) && status !== "paused";

/** What the helper does now, or how it has ended. */
function doing({ status, reason, detail, activity, tool, subject, team }) {
  if (team?.state === "idle") return html`Idle${team.said ? html` · <bdi>${visible(team.said)}</bdi>` : nothing}`;
  if (team?.state === "ended") return `Ended · ${TEAM_ENDS.get(team.end_reason) ?? team.end_reason}`;
  if (status === "running") {
    const now = activity === "running_tool" && tool ? `${tool}${subject ? ` · ${subject}` : ""}` : ACTIVITIES.get(activity) ?? "Working";
    return html`<bdi>${visible(now)}</bdi>`;
  }
  const { label, icon: name, reason: why } = stateOf({ status, reason });
  return html`${icon(name)}${label}${why ? ` · ${why}` : ""}${detail ? html` · <bdi>${visible(detail)}</bdi>` : nothing}`;
}
