// The properties of a task at the right: each is changed in place and stored at once.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { PRIORITIES, priorityIcon, statusIcon } from "../board/task-card.js";
import { avatar, icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";

const MAX_POINTS = 1000;

export function properties(host) {
  const { task } = host.data;
  const { page } = host;
  const change = (fields) => host.change(fields);
  return html`<aside class="task-side" aria-label="Properties"><dl class="kv">
    ${row("Status", select(page, task.status.id, page.statuses, (id) => change({ status_id: id }), "Status", statusIcon(task.status)))}
    ${row("Assignees", assignees(host))}
    ${row("Reporter", task.reporter ? html`${avatar(task.reporter, "avatar-s")}<bdi>${visible(task.reporter.name)}</bdi>` : html`<span class="muted">None</span>`)}
    ${row("Priority", select(page, task.priority, PRIORITIES.map((name) => ({ id: name, name: name[0].toUpperCase() + name.slice(1) })), (priority) => change({ priority }), "Priority", priorityIcon(task.priority)))}
    ${row("Type", select(page, task.type.id, page.types, (id) => change({ type_id: id }), "Type"))}
    ${page.sprints.length ? row("Sprint", select(page, task.sprint?.id ?? "", [{ id: "", name: "None" }, ...page.sprints], (id) => change({ sprint_id: id || null }), "Sprint")) : nothing}
    ${row("Labels", labels(host))}
    ${row("Points", number(page, task.story_points, (points) => change({ story_points: points })))}
    ${row("Start", date(page, "Start date", task.start_date, (value) => change({ start_date: value })))}
    ${row("Due", date(page, "Due date", task.due_date, (value) => change({ due_date: value })))}
    ${row("Parent", parent(host))}
    ${row("Blocked by", blockers(host))}
    ${branches(host)}</dl></aside>`;
}

function row(label, value) {
  return html`<dt>${label}</dt><dd>${value}</dd>`;
}

const STATES = new Map([["open", ["Open", "badge-accent"]], ["merged", ["Merged", "badge-ok"]], ["closed", ["Closed", ""]]]);

/** The branches that agents have pushed for the task, each with its pull request if it has one. */
function branches({ data: { branches: found } }) {
  if (!found.length) return nothing;
  return row(found.some(({ pr_number: pull }) => pull !== null) ? "Pull request" : "Branch", html`<ul class="branches">${found.map(branch)}</ul>`);
}

function branch({ branch: name, repository, pr_number: pull, pr_url: url, base_branch: base, state }) {
  const title = `${visible(repository)}: ${visible(name)}${base ? ` into ${visible(base)}` : ""}`;
  const shown = html`${icon("git-branch", "icon-s")}<bdi>${visible(name)}</bdi>`;
  const [label, tone] = STATES.get(state) ?? [];
  return html`<li class="row">${isAddress(url)
    ? html`<a class="badge badge-line branch" href=${url} target="_blank" rel="noopener noreferrer" title=${title}>${shown}<span class="num">#${pull}</span></a>`
    : html`<span class="badge badge-line branch" title=${title}>${shown}</span>`}${label ? html`<span class="badge ${tone}">${label}</span>` : nothing}</li>`;
}

/** Whether a link may lead there: the address comes from a git server. */
function isAddress(url) {
  return /^https?:\/\//.test(url ?? "");
}

function parent(host) {
  const { parent: present } = host.data.task;
  const clear = () => host.data.change({ parent: null });
  return links(host, present === null ? [] : [present], host.parentPicker, clear, "No longer below");
}

function blockers(host) {
  const remove = (number) => host.data.changeList(({ blocked_by: present }) => ({ blocked_by: present.filter((each) => each !== number) }));
  return links(host, host.data.task.blocked_by, host.blockerPicker, remove, "No longer blocked by");
}

/** Tasks by their numbers, each with a button that removes it, and the field to add one. */
function links({ page }, numbers, picker, remove, label) {
  const prefix = page.key.slice(0, page.key.lastIndexOf("-"));
  const shown = numbers.map((number) => html`<span class="row chip"><a class="link num" href=${page.urls.task.replace("TASK", number)}>${prefix}-${number}</a>
    ${page.mayWrite ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="${label} ${prefix}-${number}" title="Remove"
      @click=${() => picker.attempt(() => remove(number))}>${icon("x")}</button>` : nothing}</span>`);
  if (page.mayWrite) return html`${shown}${picker.template()}`;
  return numbers.length ? shown : html`<span class="muted">None</span>`;
}

function select(page, value, options, change, label, mark = nothing) {
  const chosen = options.find(({ id }) => id === value);
  if (!page.mayWrite) return html`${mark}<bdi>${visible(chosen?.name ?? "None")}</bdi>`;
  return html`${mark}<span class="select-wrap prop"><select class="select input-s" aria-label=${label} @change=${({ target }) => change(target.value)}>
    ${options.map(({ id, name }) => html`<option value=${id} ?selected=${id === value} .selected=${id === value}>${visible(name)}</option>`)}</select>${icon("chevron-down", "icon-s")}</span>`;
}

function assignees(host) {
  const { task } = host.data;
  const { page } = host;
  const ids = task.assignees.map(({ id }) => id);
  const others = page.members.filter(({ id }) => !ids.includes(id));
  const remove = (gone) => host.changeList(({ assignees: present }) => ({ assignee_ids: present.map(({ id }) => id).filter((id) => id !== gone.id) }));
  return html`${task.assignees.map((member) => html`<span class="row chip">${avatar(member, "avatar-s")}<bdi>${visible(member.name)}</bdi>
      ${page.mayWrite ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Unassign ${visible(member.name)}" title="Unassign" @click=${() => remove(member)}>${icon("x")}</button>` : nothing}</span>`)}
    ${page.mayWrite && others.length ? html`<span class="select-wrap prop"><select class="select input-s" aria-label="Assign a member" @change=${({ target }) => {
      const { value } = target;
      target.value = "";
      if (value) host.assign(others.find(({ id }) => id === value));
    }}><option value="">${ids.length ? "Add" : "Assign"}</option>
      ${others.map(({ id, name, kind }) => html`<option value=${id}>${visible(name)}${kind === "agent" ? " (agent)" : ""}</option>`)}</select>${icon("chevron-down", "icon-s")}</span>` : nothing}
    ${!page.mayWrite && !ids.length ? html`<span class="muted">None</span>` : nothing}`;
}

function labels(host) {
  const { task } = host.data;
  const { page } = host;
  const add = (field) => {
    const name = field.value.trim();
    field.value = "";
    if (name && !task.labels.includes(name)) host.changeList(({ labels: present }) => ({ labels: [...present.filter((each) => each !== name), name] }));
  };
  return html`${task.labels.map((name) => html`<span class="badge badge-line"><bdi>${visible(name)}</bdi>${page.mayWrite ? html`<button type="button" class="badge-x" aria-label="Remove the label ${visible(name)}"
      @click=${() => host.changeList(({ labels: present }) => ({ labels: present.filter((each) => each !== name) }))}>${icon("x", "icon-s")}</button>` : nothing}</span>`)}
    ${page.mayWrite ? html`<input class="input input-s prop" list="labels" maxlength="50" aria-label="Add a label" placeholder="Add"
      @change=${({ target }) => add(target)}><datalist id="labels">${page.labels.map((name) => html`<option value=${name}></option>`)}</datalist>`
      : task.labels.length ? nothing : html`<span class="muted">None</span>`}`;
}

function number(page, value, change) {
  if (!page.mayWrite) return value ?? html`<span class="muted">None</span>`;
  return html`<input class="input input-s prop" type="number" min="0" max=${MAX_POINTS} aria-label="Story points" .value=${value ?? ""}
    @change=${({ target }) => target.reportValidity() && change(target.value === "" ? null : Number(target.value))}>`;
}

function date(page, label, value, change) {
  if (!page.mayWrite) return value ?? html`<span class="muted">None</span>`;
  return html`<input class="input input-s prop" type="date" aria-label=${label} .value=${value ?? ""} @change=${({ target }) => change(target.value || null)}>`;
}
