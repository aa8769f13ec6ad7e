// Files that go with the next message: uploaded one after the other as soon as they are dropped, pasted or chosen.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";

const MOST = 50;
const BUSY_MS = 700; // before a file is sent again because too many people ask for files
const BUSY_TRIES = 6;
const NOT_READY = "Wait until the files are uploaded, or remove those that failed.";

export class Uploads {
  #view;
  #items = [];
  #running = null;

  /** `view` is the <paca-conversation>. */
  constructor(view) {
    this.#view = view;
  }

  /** Let the person choose files. */
  choose() {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.addEventListener("change", () => this.add([...input.files]));
    input.click();
  }

  add(files) {
    const room = MOST - this.#items.length;
    if (files.length > room) this.#view.showError(`A message takes at most ${MOST} files; ${files.length - room} were left out.`);
    for (const file of files.slice(0, room)) this.#items.push({ file, name: file.name || "pasted file", state: "waiting", done: 0 });
    this.#changed();
    this.#next();
  }

  /** The paths for a message that is sent now, which empties the list; null while they are not all there. */
  take() {
    if (this.#items.some(({ state }) => state !== "done")) {
      this.#view.store.dispatch({ act: "refuseText", detail: NOT_READY });
      return null;
    }
    const paths = this.#items.map(({ path }) => path);
    this.#items = [];
    return paths;
  }

  /** Put files back whose message was taken back or refused; they are in the workspace already. */
  restore(paths) {
    this.#items.push(...paths.map((path) => ({ name: path.slice(path.lastIndexOf("/") + 1), path, state: "done" })));
    this.#changed();
  }

  #changed() {
    this.#view.update();
  }

  #next() {
    if (this.#running) return;
    const item = this.#items.find(({ state }) => state === "waiting");
    if (item) this.#upload(item);
  }

  #upload(item) {
    const request = new XMLHttpRequest(); // fetch tells no progress of what is sent
    this.#running = request;
    item.state = "uploading";
    item.request = request;
    request.open("POST", `${this.#view.page.urls.api}files/?${new URLSearchParams({ name: item.name })}`);
    request.setRequestHeader("X-CSRFToken", document.querySelector("meta[name=csrf-token]")?.content ?? "");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      item.done = total ? loaded / total : 0;
      this.#changed();
    });
    request.addEventListener("loadend", () => {
      this.#running = null;
      if (this.#items.includes(item)) this.#ended(item, request);
      this.#changed();
      this.#next();
    });
    request.send(item.file);
    this.#changed();
  }

  #ended(item, request) {
    const said = parsed(request.responseText);
    item.tries = (item.tries ?? 0) + 1;
    if (said.code === "files_busy" && item.tries < BUSY_TRIES) {
      item.state = "busy";
      setTimeout(() => this.#retry(item), BUSY_MS);
      return;
    }
    if (request.status === 201 && said.path) [item.state, item.path] = ["done", said.path];
    else [item.state, item.error] = ["failed", said.detail ?? "This server does not answer."];
    this.#view.announcer.say(item.state === "done" ? `${item.name} uploaded` : `${item.name} was not uploaded. ${item.error}`);
  }

  #remove(item) {
    this.#items = this.#items.filter((each) => each !== item);
    if (item.state === "uploading") item.request.abort();
    this.#changed();
    this.#view.field?.focus();
  }

  #retry(item) {
    item.state = "waiting";
    this.#changed();
    this.#next();
  }

  /** The chips above the field. */
  chips() {
    if (!this.#items.length) return nothing;
    return html`<ul class="chips uploads" aria-label="Files of this message">${this.#items.map((item) => html`<li class="chip is-${item.state}" title=${item.error ?? ""}>
      ${icon(item.state === "failed" ? "circle-x" : item.state === "done" ? "file" : "loader-circle", item.state === "uploading" ? "spin" : "")}
      <span class="upload-name"><bdi>${visible(item.name)}</bdi></span>
      ${item.state === "uploading" ? html`<progress max="1" .value=${item.done} aria-label="Uploading ${visible(item.name)}"></progress>` : nothing}
      ${item.file ? html`<span class="num">${sizeInWords(item.file.size)}</span>` : nothing}
      ${item.state === "failed" ? html`<span class="upload-error">${item.error}</span>
        <button type="button" class="btn btn-quiet btn-s" @click=${() => this.#retry(item)}>Try again</button>` : nothing}
      <button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Remove ${visible(item.name)}" title="Remove" @click=${() => this.#remove(item)}>${icon("x")}</button></li>`)}</ul>`;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {}; // a proxy answered instead of Paca
  }
}
