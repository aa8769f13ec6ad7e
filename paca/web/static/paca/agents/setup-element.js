// <paca-setup page="...">: how the setup commands of an agent's sandboxes ran, live while they run.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { AnswerOrder } from "../core/answer-order.js";
import { call } from "../core/api.js";
import { ApiElement } from "../core/api-element.js";
import { jsonAttribute } from "../core/element.js";
import "../core/follow-end.js";
import { icon } from "../core/icons.js";
import { ProjectSocket } from "../core/project-socket.js";
import { sizeInWords } from "../core/sizes.js";
import { readable, visible } from "../core/terminal.js";
import { duration } from "../core/time.js";

const STATES = new Map([
  ["building", { label: "Running", icon: "loader-circle", tone: "running", said: "The setup commands run." }],
  ["ready", { label: "Ready", icon: "circle-check", tone: "finished", said: "The setup is ready." }],
  ["failed", { label: "Failed", icon: "circle-x", tone: "failed", said: "The setup has failed." }],
]);

export class PacaSetup extends ApiElement {
  loaded = true;
  #setup;
  #order = new AnswerOrder();
  #socket;
  #connected = true;
  #followed = new Set(); // runs that this page has seen running: their output stays open

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.#take(this.page.setup);
    this.#socket = new ProjectSocket(this.page.urls.socket, {
      onChanges: (changes) => changes.some(({ noun }) => noun === "sandbox_setup") && this.load(),
      load: () => this.load(),
      onState: (name) => this.#connection(name),
    });
    this.#socket.open();
    super.connectedCallback();
  }

  disconnectedCallback() {
    this.#socket.close();
  }

  load() {
    return this.attemptLoad(this.#read, () => this.load());
  }

  #read = () => this.#order.read(() => call("GET", this.page.urls.setup), this.#take);

  #connection(name) {
    this.#connected = name === "ready";
    this.update();
  }

  #take = (setup) => {
    const before = this.#setup?.builds[0]?.state;
    this.#setup = setup;
    const newest = setup.builds[0]?.state;
    if (before && newest && before !== newest) this.announcer.say(STATES.get(newest).said);
    for (const { state, started_at: at } of setup.builds) if (state === "building") this.#followed.add(at);
  };

  #rebuild = () => this.attempt(() => this.#order.write(() => call("POST", this.page.urls.rebuild, {}), this.#take, this.#read));

  template() {
    const { commands, builds } = this.#setup;
    if (!commands) {
      return html`${this.noticeTemplate()}<p class="muted"><b>No setup commands yet.</b> Write them in <a class="link" href="#setup-commands">Setup</a>, or for all agents in
        <a class="link" href="${this.page.urls.project}#setup-commands">the settings of the project</a>. They run once, and what they install is in each new sandbox.</p>`;
    }
    return html`${this.noticeTemplate()}
      <details class="fold"><summary class="small">${icon("chevron-right", "icon-s")}The commands, with those of the project</summary><pre class="plain setup-text" tabindex="0" aria-label="Setup commands">${visible(commands)}</pre></details>
      ${this.page.hasNetwork ? nothing : html`<p class="muted small">They reach no host: the sandboxes of this agent have <a class="link" href="#sandbox">no network</a>. Commands that download something fail.</p>`}
      ${repeat(builds, ({ started_at: at, backend }) => `${at} ${backend}`, (each) => this.#run(each))}
      ${builds.length ? nothing : html`<p class="muted"><b>Not run yet.</b> The next sandbox that starts runs the commands; other conversations wait for it. <a class="link" href=${this.page.urls.chat}>Start a conversation</a> to run them now.</p>`}
      ${builds.some(({ state }) => state !== "building") ? html`<div class="row row-wrap"><button type="button" class="btn btn-s" id="setup-rebuild" @click=${this.#rebuild}>Build again</button><span class="muted small">With the next sandbox that starts. Running ones keep what they have.</span></div>` : nothing}`;
  }

  #run(each) {
    const { state, backend, started_at: at, seconds, reason, output, network } = each;
    const { label, icon: name, tone } = STATES.get(state);
    const text = readable(output).trimEnd();
    const isOpen = state !== "ready" || this.#followed.has(at);
    return html`<div class="card card-pad col gap-3" data-state=${state}>
      <div class="row row-wrap"><span class="state pill s-${tone}">${icon(name)}${label}</span><small class="muted num">${backend} · <paca-when at=${at}></paca-when>${
        state === "building" ? html` · <paca-since at=${at}></paca-since> of ${duration(this.page.mostSeconds)} at most` : seconds === null ? nothing : ` · ${duration(seconds)}`}</small></div>
      ${state === "building" && !this.#connected ? html`<p class="small c-wait">Connection lost. The commands run on without this page. Reconnecting…</p>` : nothing}
      ${reason ? html`<p class="small">${visible(cause(reason))}</p>` : nothing}
      ${text ? html`<details class="fold" ?open=${isOpen}><summary class="small">${icon("chevron-right", "icon-s")}Output</summary>
        <paca-follow-end ?live=${state === "building"}><pre class="plain setup-text" tabindex="0" aria-label="Output of the setup commands">${text}</pre></paca-follow-end></details>`
        : state === "building" ? html`<p class="muted small">No output yet.</p>` : nothing}
      ${network.length ? html`<details class="fold"><summary class="small">${icon("chevron-right", "icon-s")}${count(network.length, "host")}</summary><ul class="rowlist">${network.map(host)}</ul></details>` : nothing}</div>`;
  }
}

// The end of the output, which follows in the lines below it, stands in the card anyway.
const cause = (reason) => reason.split("\n")[0].replace(/ The end of their output:$/, "");

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function host({ host: name, port, explanation, connections, sent_bytes: sent, received_bytes: received }) {
  const size = explanation ? "" : ` · ${sizeInWords(sent)} sent · ${sizeInWords(received)} received`;
  return html`<li class="set-row"><div><b><bdi>${visible(name) || "Other hosts"}</bdi>${port ? `:${port}` : nothing}</b>
    <small>${explanation ? `${visible(explanation)} ` : nothing}${count(connections, "connection")}${size}</small></div>
    ${explanation ? html`<span class="badge badge-bad">Refused</span>` : html`<span class="badge badge-ok">Reached</span>`}</li>`;
}

customElements.define("paca-setup", PacaSetup);
