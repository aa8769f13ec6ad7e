// <paca-board>: the tasks of a project as a board or a list, live, with filters kept in the address.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { ApiError } from "../core/api.js";
import { ApiElement } from "../core/api-element.js";
import { jsonAttribute } from "../core/element.js";
import { ProjectSocket } from "../core/project-socket.js";
import { Store } from "../core/store.js";
import { BoardData } from "./board-data.js";
import { boardReducer, cardOf, emptyBoard, find } from "./board-state.js";
import { CardMoves } from "./card-moves.js";
import { DeletedTask } from "./deleted-task.js";
import { column, noTasks, skeleton } from "./column.js";
import { PointerDrag } from "./drag.js";
import { readFilters, writeFilters } from "./filters.js";
import { NewTask } from "./quick-create.js";
import { TaskList } from "./task-list.js";
import { toolbar } from "./toolbar.js";

const WHOLE_BOARD = new Set(["board", "status", "task_type", "sprint", "project", "member"]);
const ACTIVE = new Set(["queued", "running", "waiting", "paused"]);
const MAX_REFRESHED = 20;

export class PacaBoard extends ApiElement {
  creating = ""; // the id of the status in whose column a task is being written
  lifted = 0; // the number of the task that the keyboard moves
  focused = 0; // the number of the task that gets the focus back after a move: its card is made anew
  failed = false;
  #wantsField = false; // the field of the new task gets the focus as soon as its column is there
  #drag;
  #socket;

  connectedCallback() {
    this.page = jsonAttribute(this, "page");
    this.filters = readFilters(location.search);
    this.view = new URLSearchParams(location.search).get("view") === "list" ? "list" : "board";
    this.store = new Store(boardReducer, emptyBoard());
    this.store.subscribe(() => this.update());
    this.data = new BoardData(this.page.urls, this.store);
    this.moves = new CardMoves(this);
    this.newTask = new NewTask(this.page);
    this.creating = this.newTask.status;
    this.list = new TaskList(this);
    this.loaded = true; // it shows what it has at once
    this.deleted = new DeletedTask(this);
    this.#socket = new ProjectSocket(this.page.urls.socket, {
      onChanges: (changes) => this.#changed(changes),
      load: () => this.load(),
    });
    this.#socket.open();
    addEventListener("popstate", this.#navigated);
    super.connectedCallback();
  }

  disconnectedCallback() {
    this.#socket.close();
    this.#drag?.disconnect();
    removeEventListener("popstate", this.#navigated);
  }

  /** Load what the filters show. */
  async load() {
    const load = () => (this.view === "list" ? this.list.load() : this.data.load(this.filters));
    this.failed = !(await this.attemptLoad(load, () => this.load()));
    this.update();
  }

  /** Set or remove a filter; the address follows. */
  setFilter(name, value) {
    this.filters = new Map(this.filters);
    if (value) this.filters.set(name, value);
    else this.filters.delete(name);
    this.#writeAddress();
    this.load();
  }

  clearFilters() {
    this.filters = new Map();
    this.#writeAddress();
    this.load();
  }

  setView(view) {
    this.view = view;
    this.#writeAddress();
    this.load();
  }

  #writeAddress() {
    history.pushState(null, "", location.pathname + writeFilters(this.filters, this.view));
    this.update();
  }

  #navigated = () => {
    this.filters = readFilters(location.search);
    this.view = new URLSearchParams(location.search).get("view") === "list" ? "list" : "board";
    this.load();
  };

  async #changed(changes) {
    const numbers = new Set(changes.filter(({ noun }) => noun === "task").map(({ id }) => Number(id)));
    for (const change of changes) if (change.noun === "agent.state") this.#agentChanged(change, numbers);
    const all = changes.some(({ noun }) => WHOLE_BOARD.has(noun));
    try {
      if (all || numbers.size > MAX_REFRESHED || (this.view === "list" && numbers.size)) await this.load();
      else await Promise.all([...numbers].map((number) => this.data.refresh(number)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // the next change or reconnect loads it
    }
  }

  // The frame tells all that a strip shows, but for its agent: a strip that begins or ends is fetched.
  #agentChanged({ id: conversation, task_id: task, status, activity }, numbers) {
    const card = cardOf(this.store.state, task);
    if (!card) return;
    const known = card.agent_state?.conversation === conversation;
    if (known && ACTIVE.has(status)) this.store.dispatch({ act: "agentState", task, conversation, status, activity });
    else numbers.add(card.number);
  }

  /** Open the field for a new task in a column; the first one that is for work by default. */
  startCreating(status = "") {
    const { statuses } = this.page;
    this.creating = status || (statuses.find(({ category }) => category === "todo") ?? statuses[0]).id;
    if (this.view === "list") this.setView("board");
    this.#wantsField = true;
    this.flush();
  }

  async create(title, status, action) {
    const task = await this.data.create(title, status, action);
    this.announcer.say(`${task.key} created in ${task.status.name}`);
  }

  template() {
    return html`${toolbar(this)}${this.noticeTemplate("board-notice")}${this.deleted.template()}${this.view === "list" ? this.list.template() : this.#board()}`;
  }

  #board() {
    const { columns, loaded } = this.store.state;
    if (!loaded) return this.failed ? nothing : skeleton(this.page.statuses);
    const empty = !this.creating && columns.every(({ count }) => count === 0);
    if (empty && this.filters.size) return noTasks(this);
    return html`${empty ? noTasks(this) : nothing}<div class="board" role="region" aria-label="Board" tabindex="0" @keydown=${this.moves.pressed}>
      ${repeat(columns, ({ status }) => status.id, (each) => column(this, each))}</div>`;
  }

  rendered() {
    const field = this.#wantsField && this.querySelector(".quick-create textarea");
    if (field) {
      this.#wantsField = false;
      field.focus();
    }
    const root = this.querySelector(".board:not([aria-busy])");
    if (root && root !== this.#drag?.root) {
      this.#drag?.disconnect();
      this.#drag = new PointerDrag(root, this.moves.pointer);
      this.#drag.root = root;
    }
    const number = this.lifted || this.focused;
    this.focused = 0;
    if (!number || !find(this.store.state, number)) return;
    const card = this.querySelector(`[data-number="${number}"]`);
    if (card && card !== document.activeElement) card.focus();
    card?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

customElements.define("paca-board", PacaBoard);
