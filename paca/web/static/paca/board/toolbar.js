// The toolbar above the board and the list: view, filters, and how many agents work.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { filtersInWords } from "./filters.js";
import { PRIORITIES } from "./task-card.js";

const SEARCH_MS = 250;

export function toolbar(board) {
  return html`<div class="toolbar">
    <div class="segmented" role="group" aria-label="View">${viewButton(board, "board", "square-kanban", "Board")}${viewButton(board, "list", "menu", "List")}</div>
    ${filterMenu(board)}
    ${filtersInWords(board.filters, board.page).filter(({ name }) => name !== "search").map(({ name, text }) => html`<button type="button" class="badge badge-accent"
      aria-label="Remove the filter ${visible(text)}" title="Remove this filter" @click=${() => board.setFilter(name, "")}><bdi>${visible(text)}</bdi>${icon("x")}</button>`)}
    <label class="searchbox board-search">${icon("search")}<span class="sr">Find tasks</span><input class="input input-s" type="search" placeholder="Find tasks"
      .value=${board.filters.get("search") ?? ""} @input=${({ target }) => searchSoon(board, target.value)}></label>
    ${working(board)}</div>`;
}

function viewButton(board, view, name, label) {
  return html`<button type="button" aria-pressed=${board.view === view ? "true" : "false"} @click=${() => board.setView(view)}>${icon(name, "icon-s")}${label}</button>`;
}

let searching = 0;

function searchSoon(board, words) {
  clearTimeout(searching);
  searching = setTimeout(() => board.setFilter("search", words.trim()), SEARCH_MS);
}

function filterMenu(board) {
  const { members, sprints, types, labels } = board.page;
  const rows = [
    ["assignee", "Assignee", [["none", "No assignee"], ...members.map(({ id, name }) => [id, name])]],
    ["label", "Label", labels.map((name) => [name, name])],
    ["sprint", "Sprint", [["none", "No sprint"], ...sprints.map(({ id, name }) => [id, name])]],
    ["type", "Type", types.map(({ id, name }) => [id, name])],
    ["priority", "Priority", PRIORITIES.map((name) => [name, name[0].toUpperCase() + name.slice(1)])],
  ];
  return html`<details class="filter-menu" @keydown=${(event) => {
      if (event.key !== "Escape" || !event.currentTarget.open) return;
      event.preventDefault();
      event.stopPropagation();
      event.currentTarget.open = false;
      event.currentTarget.querySelector("summary").focus();
    }}><summary class="btn btn-quiet btn-s">${icon("filter")}Filter</summary>
    <div class="popup filter-fields">${rows.filter(([, , options]) => options.length).map(([name, label, options]) => html`<label class="field"><span class="label">${label}</span>
      <span class="select-wrap"><select class="select input-s" @change=${({ target }) => board.setFilter(name, target.value)}>
        <option value="" ?selected=${!board.filters.has(name)}>Any</option>
        ${options.map(([value, text]) => html`<option value=${value} ?selected=${board.filters.get(name) === value}>${visible(text)}</option>`)}
      </select>${icon("chevron-down", "icon-s")}</span></label>`)}
      ${board.filters.size ? html`<button type="button" class="btn btn-s" @click=${() => board.clearFilters()}>Clear all</button>` : nothing}</div></details>`;
}

/** "2 working, 1 needs you", counted over the cards that are shown. */
function working(board) {
  const states = board.store.state.columns.flatMap(({ cards }) => cards.map(({ agent_state: state }) => state?.status));
  const running = states.filter((status) => status === "running").length;
  const waiting = states.filter((status) => status === "waiting").length;
  if (!running && !waiting) return nothing;
  return html`<span class="push desk-only text-2 row">
    ${running ? html`<span class="state s-running">${icon("loader-circle")}${running} working</span>` : nothing}
    ${waiting ? html`<span class="state s-waiting">${icon("hand")}${waiting} waiting</span>` : nothing}</span>`;
}
