// <paca-files>: the files of the sandbox beside the conversation. It is loaded when somebody opens it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call } from "../core/api.js";
import { copyFrom } from "../core/copy.js";
import { PacaElement } from "../core/element.js";
import { icon, iconButton } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { changesList, diffView } from "./changes.js";
import { Preview } from "./preview.js";
import { PAGE, ROOT, Tree } from "./tree.js";
import { TreeView } from "./tree-view.js";

const SLOW_MS = 1200;
const REFRESH_MS = 1000;
const LEAST_MS = 3000; // between two refreshes while the agent works
const SETTLE_MS = 60; // before the page is loaded that somebody has scrolled to
const BUSY_MS = 500; // before a request is sent again because too many people ask for files
const BUSY_TRIES = 6;
const MOST_ENTRIES = 10_000; // of one answer
const REFRESHING = new Set(["agent.file.changed", "agent.tool.returned", "agent.background.finished", "agent.sandbox.started", "agent.repository.cloned"]);

class PacaFiles extends PacaElement {
  tab = "changes";
  base = "start";
  selected = "";
  tree = new Tree();
  #changes = null;
  #detail = null; // {kind: preview|diff, found} or {error}
  #error = null; // of the list: {text, none}
  #loading = 0;
  #slow = false;
  #timer = 0;
  #refreshedAt = 0;
  #settling = 0;
  #isPaging = false;
  #failed = new Set(); // pages that could not be loaded: nobody asks for them again by himself
  #view = new TreeView(this);
  #preview = new Preview(this);

  connectedCallback() {
    super.connectedCallback();
    this.refresh();
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
    clearTimeout(this.#settling);
  }

  get #base() {
    return `${this.conversation.page.urls.api}files/`;
  }

  contentUrl(path) {
    return `${this.#base}content/?path=${encodeURIComponent(path)}`;
  }

  // --- loading --------------------------------------------------------------------------------------

  /** Load again what is shown. */
  refresh = async () => {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#refreshedAt = performance.now();
    this.#failed.clear();
    await this.#ask(async () => {
      if (this.tab === "changes") await this.#loadChanges();
      else await this.#loadShown();
      if (this.selected) await this.#loadDetail();
    });
  };

  /** A frame of the conversation came: the files may have changed. */
  received({ type, data }) {
    // A request would start an idle sandbox again that has just ended.
    const isRemoved = type === "agent.sandbox.removed" && data?.kept === false;
    if (!(REFRESHING.has(type) || isRemoved) || this.#timer) return;
    const wait = Math.max(REFRESH_MS, this.#refreshedAt + LEAST_MS - performance.now());
    this.#timer = setTimeout(this.refresh, wait);
  }

  async #ask(act) {
    this.#loading += 1;
    const slow = setTimeout(() => {
      this.#slow = true;
      this.update();
    }, SLOW_MS);
    this.update();
    try {
      await act();
      this.#error = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error = { text: error.message, none: error.code === "no_files_yet" };
      if (this.#error.none) [this.#changes, this.#detail, this.tree] = [null, null, new Tree()];
    } finally {
      clearTimeout(slow);
      this.#loading -= 1;
      if (!this.#loading) this.#slow = false;
      this.update();
    }
  }

  async #get(address, query) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call("GET", `${this.#base}${address}?${new URLSearchParams(query)}`);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "files_busy" || tries === BUSY_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS * (1 + Math.random())));
      }
    }
  }

  #getPage(path, offset, limit = PAGE) {
    return this.#get("", { path, offset, limit });
  }

  /** Load the open folders again, each as far as it is in sight. A worker answers two requests of a conversation at once. */
  async #loadShown() {
    const inSight = this.#view.pages();
    const paths = this.tree.shown[Symbol.iterator]();
    const load = async () => {
      for (const path of paths) await this.#loadFolder(path, inSight.filter(({ folder }) => folder === path).map(({ offset }) => offset));
    };
    await Promise.all([load(), load()]);
  }

  async #loadFolder(path, offsets = []) {
    try {
      const pages = [];
      for (const offset of offsets.length ? offsets : [0]) pages.push([offset, await this.#getPage(path, offset)]);
      this.tree.replace(path, pages);
    } catch (error) {
      if (!(error instanceof ApiError) || path === ROOT) throw error;
      this.tree.fail(path, error.message);
    }
  }

  /** Load the first page that is in sight and not loaded, then the next one. */
  #loadMissing = async () => {
    this.#settling = 0;
    const [page] = this.#missing();
    if (!page || this.#isPaging) return;
    this.#isPaging = true;
    try {
      await this.#ask(async () => this.tree.put(page.folder, page.offset, await this.#getPage(page.folder, page.offset)));
    } finally {
      if (this.tree.isMissing(page.folder, page.offset, PAGE)) this.#failed.add(keyOf(page));
      this.#isPaging = false;
    }
    this.update();
  };

  #missing() {
    return this.#view.pages(true).filter((page) => !this.#failed.has(keyOf(page)));
  }

  /** Load what is missing of all open folders, to look for a name in it. */
  loadAll() {
    return this.#ask(async () => {
      for (const path of this.tree.shown) {
        for (let offset = 0; this.tree.isMissing(path, offset, Infinity); offset += MOST_ENTRIES) {
          if (this.tree.isMissing(path, offset, MOST_ENTRIES)) this.tree.put(path, offset, await this.#getPage(path, offset, MOST_ENTRIES));
        }
      }
    });
  }

  async #loadChanges() {
    const { base } = this;
    const found = await this.#get("changes/", { base });
    if (this.base === base) this.#changes = found; // else the answer to a later choice is shown, or on its way
  }

  async #loadDetail() {
    const { selected: path, tab, base } = this;
    const isWanted = () => this.selected === path && this.tab === tab && this.base === base;
    try {
      const found = tab === "changes"
        ? { kind: "diff", found: await this.#get("diff/", { path, base }) }
        : { kind: "preview", found: await this.#get("preview/", { path }) };
      if (isWanted()) this.#detail = found;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isWanted()) this.#detail = { error: error.fields.path?.[0] ?? error.message };
    }
  }

  // --- actions --------------------------------------------------------------------------------------

  openFolder(path, open) {
    this.tree.toggle(path, open);
    this.update();
    if (open && !this.tree.isLoaded(path)) this.#ask(() => this.#loadFolder(path));
  }

  openFile = (path) => {
    this.selected = path;
    this.#detail = null;
    this.#ask(() => this.#loadDetail());
  };

  chooseBase = (name) => {
    this.base = name;
    this.#changes = null;
    this.refresh();
  };

  #chooseTab(name) {
    if (this.tab === name) return;
    [this.tab, this.selected, this.#detail] = [name, "", null];
    this.refresh();
  }

  #back = () => {
    const path = this.selected;
    [this.selected, this.#detail] = ["", null];
    this.flush();
    (this.querySelector(`[title="${CSS.escape(path)}"]`) ?? this.querySelector(".tree"))?.focus();
  };

  // --- rendering ------------------------------------------------------------------------------------

  template() {
    const count = this.#changes?.entries.length;
    return html`<header class="files-head"><h2 class="sr">Files</h2>
      <div class="segmented" role="group" aria-label="What to show">
        <button type="button" aria-pressed=${this.tab === "changes"} @click=${() => this.#chooseTab("changes")}>Changes${count ? html` <span class="n num">${count.toLocaleString("en")}${this.#changes.cut ? "+" : ""}</span>` : nothing}</button>
        <button type="button" aria-pressed=${this.tab === "files"} @click=${() => this.#chooseTab("files")}>Files</button></div>
      <span class="grow"></span>
      <span class="files-busy" role="status">${this.#loading ? html`${icon("loader-circle", "spin")}<span class="sr">Loading</span>` : nothing}</span>
      ${iconButton("rotate-ccw", "Refresh", this.refresh)}
      ${this.#error?.none ? nothing : html`<a class="btn btn-icon btn-quiet btn-s" href="${this.#base}archive/" download aria-label="Download all files" title="Download all files">${icon("download")}</a>`}
      ${iconButton("x", "Close the files", () => this.conversation.toggleFiles())}</header>
      ${this.#slow ? html`<p class="files-note" role="status">Waiting for the sandbox, which may have to start first…</p>` : nothing}
      ${this.#error ? this.#problem() : nothing}
      <div class="files-body ${this.selected ? "has-detail" : ""}">${this.#list()}${this.selected ? this.#detailView() : nothing}</div>`;
  }

  #problem() {
    if (this.#error.none) {
      return html`<div class="files-empty">${icon("folder")}<p><b>No files yet.</b></p>
        <p class="text-2">The agent has not used its sandbox. What it makes appears here.</p></div>`;
    }
    return html`<div class="notice notice-bad files-problem" role="alert">${icon("circle-x")}<div>${this.#error.text}</div>
      <button type="button" class="btn btn-s" @click=${this.refresh}>Try again</button></div>`;
  }

  #list() {
    if (this.#error?.none) return nothing;
    if (this.tab === "files") {
      return this.tree.root?.total === 0 ? html`<div class="files-empty">${icon("folder")}<p class="text-2">The workspace is empty.</p></div>` : this.#view.template(this.selected);
    }
    if (!this.#changes) return nothing;
    return changesList(this.#changes, { selected: this.selected, base: this.base, openChange: this.openFile, chooseBase: this.chooseBase });
  }

  #detailView() {
    const path = this.selected;
    const isGone = this.#detail?.found?.change === "deleted" || this.#detail?.error;
    return html`<section class="files-detail" aria-label=${visible(path)}><header class="diff-file">
      <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Back to the list" title="Back to the list" @click=${this.#back}>${icon("chevron-right", "turned")}</button>
      <code title=${visible(path)}><bdi>${visible(path)}</bdi></code><span class="grow"></span>
      ${this.conversation.field ? iconButton("corner-down-left", "Put the path into the message", () => this.conversation.insert(`\`${path}\``)) : nothing}
      <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Copy the path" title="Copy the path" @click=${(event) => copyFrom(event.currentTarget, path)}>${icon("copy")}</button>
      ${isGone ? nothing : html`<a class="btn btn-icon btn-quiet btn-s" href=${this.contentUrl(path)} download aria-label="Download the file" title="Download the file">${icon("download")}</a>`}</header>
      <div class="files-content">${this.#content()}</div></section>`;
  }

  #content() {
    const detail = this.#detail;
    if (!detail) return html`<p class="files-note" role="status">Loading…</p>`;
    if (detail.error) return html`<p class="files-note" role="alert">${detail.error}</p>`;
    return detail.kind === "diff" ? diffView(detail.found) : this.#preview.template(detail.found);
  }

  rendered() {
    this.#view.rendered();
    if (this.tab === "files" && !this.#settling && !this.#isPaging && this.#missing().length) this.#settling = setTimeout(this.#loadMissing, SETTLE_MS);
  }
}

function keyOf({ folder, offset }) {
  return `${offset} ${folder}`;
}

customElements.define("paca-files", PacaFiles);

/** The element for a conversation. */
export function filesPanel(conversation) {
  const element = document.createElement("paca-files");
  element.className = "panel files-panel";
  element.setAttribute("role", "complementary");
  element.setAttribute("aria-label", "Files");
  element.conversation = conversation;
  return element;
}
