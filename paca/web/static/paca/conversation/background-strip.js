// The strip above the composer with the commands that run in the background. It is loaded once there is one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { icon, iconButton } from "../core/icons.js";
import { readable, tail, visible } from "../core/terminal.js";

const SHOWN_LINES = 4;
const MAX_ENDED = 3; // the newest that have ended stay in sight beside those that run
const CAUSES = new Map([
  ["timed_out", "Time limit"], ["cancelled", "Stopped"], ["out_of_memory", "Out of memory"], ["disk_full", "Disk full"],
  ["too_many_processes", "Too many processes"], ["lost", "Lost with its sandbox"],
]);

export class BackgroundStrip {
  #view;
  #commands = [];
  #order = new AnswerOrder();
  #open = matchMedia("(min-width: 760px)").matches; // a phone has no room for it
  #hidden = false; // closed by the reader, until another command starts
  #seen = new Set(); // commands that this page has seen running: others that have ended are history

  /** `view` is the <paca-conversation>. */
  constructor(view) {
    this.#view = view;
    this.refresh();
  }

  /** Read the commands again. */
  async refresh() {
    await this.#view.reportErrors(this.#read);
  }

  #read = () => this.#order.read(() => call("GET", `${this.#view.page.urls.api}background/`), ({ results }) => {
    this.#commands = results;
    for (const { id, state } of results) if (state !== "ended") this.#seen.add(id);
    this.#view.update();
  });

  /** Take a frame of a background command. */
  received({ type, data }) {
    if (type !== "agent.background.progressed") {
      if (type === "agent.background.started") this.#hidden = false;
      this.refresh();
      return;
    }
    this.#commands = this.#commands.map((each) => (each.id === data.call_id ? { ...each, output: data.output } : each));
  }

  #stop = async (command) => {
    const stop = () => call("POST", `${this.#view.page.urls.api}background/${command.id}/stop/`, {});
    await this.#view.reportErrors(() => this.#order.write(stop, (stopped) => {
      this.#commands = this.#commands.map((each) => (each.id === stopped.id ? stopped : each));
      this.#view.update();
    }, this.#read));
  };

  #toggled = (event) => {
    this.#open = event.currentTarget.open;
  };

  #close = () => {
    this.#hidden = true;
    this.#view.update();
  };

  template() {
    const running = this.#commands.filter(({ state }) => state !== "ended").reverse();
    const ended = this.#commands.filter(({ id, state }) => state === "ended" && this.#seen.has(id)).slice(0, MAX_ENDED);
    if (this.#hidden || !(running.length + ended.length)) return nothing;
    return html`<section class="background-strip composer-note" aria-label="Background commands">
      <details ?open=${this.#open} @toggle=${this.#toggled}>
        <summary>${icon("terminal")}<span aria-live="polite">${running.length ? `${running.length} running in the background` : "Background commands have ended"}</span>${icon("chevron-down", "chevron")}</summary>
        <ul>${[...running, ...ended].map((each) => this.#line(each))}</ul>
      </details>
      ${running.length ? nothing : iconButton("x", "Close", this.#close)}</section>`;
  }

  #line(command) {
    const { id, handle, command: line, state, output, file } = command;
    const shown = tail(readable(output).trimEnd(), SHOWN_LINES).text;
    return html`<li data-state=${state} id=${`background-${id}`}>
      <div class="background-head"><b class="num">${handle}</b><code title=${visible(line)}><bdi>${visible(line)}</bdi></code>
        <span class="background-state">${state === "ended" ? ending(command) : html`${state === "stopping" ? "Stopping… " : nothing}<paca-since class="num" at=${command.started_at}></paca-since>`}</span>
        ${state === "running" && this.#view.page.mayWrite ? html`<button type="button" class="btn btn-s" aria-label=${`Stop ${handle}`} @click=${() => this.#stop(command)}>${icon("circle-stop")}Stop</button>` : nothing}</div>
      ${shown ? html`<pre tabindex="0" aria-label=${`Newest output of ${handle}`}>${visible(shown)}</pre>` : nothing}
      ${file ? html`<p class="small text-2">All of its output is in <code>${visible(file)}</code>.</p>` : nothing}</li>`;
  }
}

/** How a command has ended: a short phrase with its icon. */
function ending({ cause, exit_code: code, stopped_by: by }) {
  if (cause) return html`${icon(cause === "cancelled" ? "circle-stop" : "circle-alert")}${CAUSES.get(cause) ?? "Ended"}${cause === "cancelled" && by ? html` by <bdi>${visible(by)}</bdi>` : nothing}`;
  return html`${icon(code === 0 ? "circle-check" : "circle-x")}Exit code ${code ?? "unknown"}`;
}
