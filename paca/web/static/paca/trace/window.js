// The developer view of a conversation: its calls in time, their requests and replies, and the raw events.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call } from "../core/api.js";
import { icon, iconButton } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { EventList } from "./event-list.js";
import { total, waterfall } from "./waterfall.js";

const PAGE = 100;

/** Open it for `view`, the <paca-conversation>. Esc closes it, and the focus returns. */
export function openTrace(view) {
  const dialog = document.createElement("dialog");
  dialog.className = "dialog trace";
  dialog.setAttribute("aria-labelledby", "trace-title");
  const opener = document.activeElement;
  document.body.append(dialog);
  const shown = new TraceWindow(view, dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (opener?.isConnected) opener.focus();
  });
  dialog.showModal();
  shown.load();
}

class TraceWindow {
  calls = [];
  facts = null; // what is kept, once it is known
  before = null; // asks for the calls before these
  open = new Map(); // call id -> its trace; null: on the way; an ApiError
  tab = "calls";
  error = "";

  constructor(view, dialog) {
    this.base = view.page.urls.api;
    this.mayWrite = view.page.mayWrite;
    this.dialog = dialog;
    this.events = new EventList(this.base, this.update);
    this.update();
  }

  update = () => {
    if (this.dialog.isConnected) render(this.template(), this.dialog);
  };

  load = (before = "") => this.#try(async () => {
    const found = await call("GET", `${this.base}trace/?limit=${PAGE}${before && `&before=${encodeURIComponent(before)}`}`);
    const { results, before: next, ...facts } = found;
    this.calls = before ? [...results, ...this.calls] : results;
    Object.assign(this, { facts, before: next });
  });

  toggle = async (callId) => {
    if (this.open.delete(callId)) return this.update();
    const found = this.calls.find((each) => each.call_id === callId);
    this.open.set(callId, null);
    this.update();
    if (!found.trace) return undefined;
    try {
      this.open.set(callId, await call("GET", `${this.base}trace/calls/${callId}/`));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.open.set(callId, error);
    }
    return this.update();
  };

  switchTracing = () => this.#try(async () => {
    const { tracing } = await call("PATCH", this.base, { tracing: !this.facts.tracing });
    this.facts = { ...this.facts, tracing };
  });

  async #try(act) {
    this.error = "";
    try {
      await act();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error = error.message;
    }
    this.update();
  }

  show(tab) {
    this.tab = tab;
    if (tab === "events") this.events.start();
    this.update();
  }

  template() {
    return html`<header class="trace-head"><h2 id="trace-title">Trace</h2>
      <div class="segmented" role="group" aria-label="What is shown">${this.#tab("calls", "Calls")}${this.#tab("events", "Events")}</div>
      <a class="btn btn-quiet btn-s" href="${this.base}trace/export/" download aria-label="Trace as JSON" title="All requests and replies as JSON">${icon("download")}<span>Trace</span></a>
      <a class="btn btn-quiet btn-s" href="${this.base}trace/export/?format=otlp" download aria-label="Spans for OpenTelemetry" title="Spans for OpenTelemetry (OTLP in JSON)">${icon("file-text")}<span>Spans</span></a>
      ${iconButton("x", "Close", () => this.dialog.close())}</header>
      <div class="trace-body" tabindex="0" aria-label="Trace" role="region">${this.error ? html`<p class="notice notice-bad" role="alert">${this.error}</p>` : nothing}
        ${this.tab === "events" ? this.events.template() : this.#calls()}</div>`;
  }

  #tab(name, label) {
    return html`<button type="button" aria-pressed=${this.tab === name} @click=${() => this.show(name)}>${label}</button>`;
  }

  #calls() {
    if (!this.facts) return this.error ? nothing : html`<p class="text-2">Loading…</p>`;
    return html`${this.#state()}
      ${this.calls.length ? html`<p class="trace-total num">${total(this.calls)}</p>` : html`<p class="text-2">No calls yet. They appear here when the agent works.</p>`}
      ${this.before ? html`<button type="button" class="btn btn-s" @click=${() => this.load(this.before)}>Earlier calls</button>` : nothing}
      ${waterfall(this)}`;
  }

  /** Whether requests and replies are kept, how long, and how to change it. */
  #state() {
    const { tracing, allowed, keep_days: days, stored_bytes: bytes, dropped_calls: dropped } = this.facts;
    const kept = days ? `for ${days} days` : "as long as the conversation";
    const words = !allowed ? "This installation keeps no requests and replies (TRACING is off). Times, tokens and cost are shown all the same."
      : tracing ? `Requests and replies are kept ${kept}, without secrets.`
        : "Requests and replies are not kept. Switch the trace on to keep those of the next turns.";
    return html`<div class="trace-state"><p>${words}${bytes ? ` ${sizeInWords(bytes)} are stored.` : ""}${
      dropped ? ` ${dropped} older ${dropped === 1 ? "call is" : "calls are"} not kept any more.` : ""}</p>
      ${allowed && this.mayWrite ? html`<label class="switch"><input type="checkbox" role="switch" .checked=${tracing} @change=${this.switchTracing}>Keep from the next turn on</label>` : nothing}</div>`;
  }
}
