// Templates of the board: a column with its cards, the field for a new task, and the board without tasks.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { icon } from "../core/icons.js";
import { visible } from "../core/terminal.js";
import { quickCreate } from "./quick-create.js";
import { statusIcon, taskCard } from "./task-card.js";

/** A column, rendered again only if it has changed: a drag changes two of them, many times a second. */
export function column(board, state) {
  const creates = board.creating === state.status.id;
  return guard([state, creates, board.lifted], () => columnTemplate(board, state, creates));
}

function columnTemplate(board, { status, count, cards, next }, creates) {
  const { mayWrite } = board.page;
  return html`<section class="column" data-status=${status.id} aria-label=${visible(status.name)}>
    <header class="column-head">${statusIcon(status)}<h2><bdi>${visible(status.name)}</bdi></h2><span class="n num">${count}</span>
      ${mayWrite ? html`<button type="button" class="btn btn-icon btn-quiet btn-s" aria-label="Add a task to ${visible(status.name)}"
        title="Add a task to ${visible(status.name)}" @click=${() => board.startCreating(status.id)}>${icon("plus")}</button>` : nothing}</header>
    <div class="column-body">${creates ? quickCreate(board, status) : nothing}
      ${repeat(cards, ({ number }) => number, (task) => card(board, task))}
      ${next ? html`<button type="button" class="more-row" @click=${() => more(board, status)}>${count - cards.length} more</button>` : nothing}</div></section>`;
}

function card(board, task) {
  const { mayWrite, urls } = board.page;
  const lifted = board.lifted === task.number;
  return guard([task, lifted], () => taskCard(task, { href: urls.task.replace("TASK", task.number), mayWrite, lifted }));
}

async function more(board, status) {
  const found = board.store.state.columns.find((each) => each.status.id === status.id);
  try {
    await board.data.more(found);
  } catch (error) {
    board.show(error, () => more(board, status));
  }
}

/** The board while it loads for longer than a moment. */
export function skeleton(statuses) {
  return html`<div class="board" aria-busy="true">${statuses.map((status) => html`<section class="column" aria-hidden="true">
    <header class="column-head">${statusIcon(status)}<h2>${visible(status.name)}</h2></header></section>`)}</div>`;
}

export function noTasks(board) {
  if (board.filters.size) {
    return html`<div class="card empty board-empty"><h2>No task fits the filters</h2><p>Take a filter away to see more.</p>
      <div class="row"><button type="button" class="btn" @click=${() => board.clearFilters()}>Clear all filters</button></div></div>`;
  }
  const { mayWrite } = board.page;
  return html`<div class="card empty empty-s board-empty"><h2>No tasks yet</h2>
    <p>A task is a piece of work for a person or an agent. Assign one to an agent, and it starts at once.</p>
    ${mayWrite ? html`<div class="row"><button type="button" class="btn btn-primary" @click=${() => board.startCreating()}>${icon("plus")}New task</button></div>`
      : html`<p>Members with permission to write tasks can add the first one.</p>`}</div>`;
}
