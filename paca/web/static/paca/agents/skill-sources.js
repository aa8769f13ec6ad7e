// Skills from git: look at a repository, read its skills whole, take some; and see what a newer commit would change.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { ApiError, call, newClientId } from "../core/api.js";
import { icon } from "../core/icons.js";
import { noteFocus } from "../core/refocus.js";
import { sizeInWords } from "../core/sizes.js";
import { visible } from "../core/terminal.js";
import { diffView } from "../files/changes.js";

const ALL_SHOWN = 3; // more skills than this are folded
// The characters that the server warns of, beyond those that `visible` shows.
const HIDDEN = /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Text of others with a sign for each character that a page does not show. */
function shown(text) {
  return visible(text).replace(HIDDEN, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase()}›`);
}

const short = (commit) => commit.slice(0, 12);
const words = (error) => Object.values(error.fields).flat().join(" ") || error.message;
const say = (text) => { document.getElementById("alert").textContent = text; };

function reload() {
  noteFocus();
  location.reload();
}

function notice(text, look = "") {
  return html`<div class="notice ${look}" role="status">${icon("circle-alert")}<div>${shown(text)}</div></div>`;
}

/** Run `act` while the button is busy. An ApiError is shown in `place`. */
async function work(button, place, waiting, act) {
  button.disabled = true;
  render(html`<p class="hint" role="status">${waiting}</p>`, place);
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    render(notice(words(error), "notice-bad"), place);
    say(words(error));
  } finally {
    button.disabled = false;
  }
}

function textBlock(label, text) {
  return html`<div class="col gap-2"><p class="label">${shown(label)}</p><pre class="plain" tabindex="0" role="group" aria-label=${shown(label)} dir="auto">${shown(text)}</pre></div>`;
}

function fileRow({ path, size_bytes: size, text }) {
  const words = `${shown(path)} · ${sizeInWords(size)}`;
  if (text === null) return html`<p class="hint"><bdi>${words}</bdi>: no text, or too long to show. Read it in the repository.</p>`;
  return html`<details class="col gap-2"><summary class="hint row">${icon("chevron-down", "icon-s")}<bdi>${words}</bdi></summary><pre class="plain" tabindex="0" role="group" aria-label=${shown(path)}>${shown(text)}</pre></details>`;
}

function skillText(skill) {
  return html`<div class="card-pad col gap-6">
    ${skill.warnings.map((text) => notice(text, "notice-wait"))}
    ${textBlock("SKILL.md", skill.content)}
    ${skill.triggers.length ? html`<p class="hint">Keywords: ${skill.triggers.map(shown).join(", ")}</p>` : nothing}
    ${skill.files.length ? html`<div class="col gap-4"><p class="label">Files for its sandbox</p>${skill.files.map(fileRow)}</div>` : nothing}
  </div>`;
}

class SkillSource {
  #form;
  #place;
  #found = null;
  #chosen = new Set();
  #key = newClientId();
  #problem = "";

  constructor(form) {
    this.#form = form;
    this.#place = form.parentElement.querySelector("[data-skill-found]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#look();
    });
  }

  #look() {
    const body = Object.fromEntries(["url", "ref", "folder"].map((name) => [name, this.#form.elements[name].value.trim()]));
    const button = this.#form.querySelector("button");
    this.#markField("");
    return work(button, this.#place, "Reading the repository. This can take a minute…", async () => {
      try {
        this.#found = await call("POST", this.#form.dataset.skillLook, body);
      } catch (error) {
        this.#markField(Object.keys(error.fields ?? {})[0] ?? "");
        throw error;
      }
      this.#chosen.clear();
      this.#problem = "";
      this.#key = newClientId();
      this.#show();
      this.#place.querySelector("[tabindex]").focus();
    });
  }

  #markField(name) {
    for (const field of this.#form.elements) field.removeAttribute("aria-invalid");
    const field = name && this.#form.elements.namedItem(name);
    field?.setAttribute?.("aria-invalid", "true");
    field?.focus?.();
  }

  #show() {
    render(this.#template(), this.#place);
  }

  #template() {
    const { skills, commit, ref, marketplace, left_out: leftOut } = this.#found;
    const count = skills.length + leftOut;
    return html`<p role="status" tabindex="-1"><b>${count} skill${count === 1 ? "" : "s"}</b> at commit <code title=${commit}>${short(commit)}</code>${ref && ref !== commit ? html` of <code><bdi>${shown(ref)}</bdi></code>` : nothing}.
      A skill is text that tells the agent what to do: read it before you add it.</p>
      ${leftOut ? notice(`The first ${skills.length} are shown. Name a folder to see others.`) : nothing}
      ${marketplace ? this.#marketplace(marketplace) : nothing}
      ${skills.map((skill) => this.#skill(skill))}
      ${skills.length ? this.#foot() : nothing}`;
  }

  #marketplace({ name, plugins, problem }) {
    if (problem) return notice(`${problem} The skills below were found all the same.`);
    return html`<div class="card"><div class="set-row"><div><b>Marketplace ${shown(name)}</b><small>Of a plugin, its skills are added</small></div></div>
      ${plugins.map((plugin) => html`<div class="set-row"><div><b>${shown(plugin.name)}</b><small>${plugin.problem || shown(plugin.description)}</small></div>
        ${plugin.folders.length ? html`<button type="button" class="btn btn-s" @click=${() => this.#choose(plugin.folders)}>Choose ${plugin.folders.length === 1 ? "its skill" : `its ${plugin.folders.length} skills`}</button>` : nothing}
        ${plugin.elsewhere ? html`<button type="button" class="btn btn-s" title=${shown(plugin.elsewhere.url)} @click=${() => this.#go(plugin.elsewhere)}>Look there</button>` : nothing}</div>`)}</div>`;
  }

  #go(source) {
    for (const [name, value] of Object.entries(source)) this.#form.elements[name].value = value;
    this.#look();
  }

  #choose(folders) {
    for (const { folder, problem, taken } of this.#found.skills) {
      if (folders.includes(folder) && !problem && !taken) this.#chosen.add(folder);
    }
    this.#show();
  }

  #skill(skill) {
    const { folder, name, description, problem, taken, files, token_estimate: tokens } = skill;
    const why = taken ? "The agent has a skill of this name. Check that one for updates, or delete it first." : problem;
    const toggle = ({ target }) => {
      this.#chosen[target.checked ? "add" : "delete"](folder);
      this.#show();
    };
    return html`<div class="card"><label class="set-row"><input type="checkbox" class="check" .checked=${this.#chosen.has(folder)} ?disabled=${Boolean(why)} @change=${toggle} aria-label="Add ${shown(name)}">
      <div><b>${shown(name)}</b><small dir="auto">${shown(description)}</small>${why ? html`<p class=${taken ? "hint" : "field-error"}>${shown(why)}${taken ? nothing : " It can be uploaded as a zip once that is repaired."}</p>` : nothing}</div>
      ${skill.warnings.length ? html`<span class="badge badge-wait">${skill.warnings.length} to note</span>` : nothing}</label>
      <details class="role" ?open=${this.#found.skills.length <= ALL_SHOWN}><summary class="set-row"><div><small><bdi>${shown(folder) || "The top folder"}</bdi> · about ${tokens.toLocaleString("en")} tokens${files.length ? ` · ${files.length} file${files.length === 1 ? "" : "s"}` : ""}</small></div><small>Read it</small>${icon("chevron-down")}</summary>${skillText(skill)}</details></div>`;
  }

  #foot() {
    const { size } = this.#chosen;
    return html`${this.#problem ? notice(this.#problem, "notice-bad") : nothing}
      <div class="row"><button type="button" class="btn btn-primary btn-s" ?disabled=${!size} @click=${({ target }) => this.#take(target)}>${size ? `Add ${size} skill${size === 1 ? "" : "s"}` : "Choose skills to add"}</button></div>`;
  }

  async #take(button) {
    const { url, ref, folder, commit } = this.#found;
    button.disabled = true;
    try {
      await call("POST", this.#form.dataset.skillImport, { url, ref, folder, commit, folders: [...this.#chosen] }, { idempotencyKey: this.#key });
      for (const field of this.#form.elements) field.value = "";
      reload();
      return;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status && error.status < 500) this.#key = newClientId();
      this.#problem = words(error);
      say(this.#problem);
    }
    button.disabled = false;
    this.#show();
  }
}

function fileChange({ path, change, diff }) {
  return html`<div class="col gap-2"><p class="label">${{ added: "New: ", deleted: "Deleted: ", changed: "" }[change]}<bdi>${shown(path)}</bdi></p>
    ${diff === null ? html`<p class="hint">It is no text, or too much to compare, so it has no diff.</p>` : diffView({ path, change, diff: shown(diff), size: diff.length })}</div>`;
}

function updateTemplate(checked, button, place) {
  const { commit, moved, changes, skill } = checked;
  const at = html`<code title=${commit}>${short(commit)}</code>`;
  if (!changes.length) return html`<p class="hint" role="status" tabindex="-1">${moved ? html`The branch is at ${at} now. This skill is the same there.` : html`It is up to date: the branch is still at ${at}.`}</p>`;
  return html`<p role="status" tabindex="-1">${moved ? html`The branch is at ${at} now. This would change:` : html`The branch is still at ${at}. The skill was changed here since; taking that commit again would change:`}</p>
    ${skill.warnings.map((text) => notice(text, "notice-wait"))}
    ${changes.map(fileChange)}
    <details class="col gap-2"><summary class="hint row">${icon("chevron-down", "icon-s")}Read the whole new text</summary>${skillText({ ...skill, warnings: [] })}</details>
    <div class="row"><button type="button" class="btn btn-primary btn-s" @click=${({ target }) => update(target, checked, button, place)}>Take commit ${short(commit)}</button></div>`;
}

function update(target, { commit }, button, place) {
  return work(target, place, "Taking the commit…", async () => {
    await call("POST", button.dataset.skillUpdate, { commit }, { ifMatch: button.dataset.match, idempotencyKey: newClientId() });
    reload();
  });
}

function check(button) {
  const place = button.closest("[data-skill-git]").querySelector("[data-skill-changes]");
  return work(button, place, "Reading the repository. This can take a minute…", async () => {
    const checked = await call("POST", button.dataset.skillCheck, {});
    render(updateTemplate(checked, button, place), place);
    place.querySelector("[tabindex]").focus();
  });
}

for (const form of document.querySelectorAll("form[data-skill-look]")) new SkillSource(form);
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-skill-check]");
  if (button) check(button);
});
