// Moves of cards by pointer and keyboard: shown at once, stored on the drop, taken back on refusal.

import { find, placeOf } from "./board-state.js";
import { stepOf } from "./drag.js";

export class CardMoves {
  #board;

  constructor(board) {
    this.#board = board;
  }

  /** What a pointer drag does. */
  get pointer() {
    return {
      mayMove: () => this.#board.page.mayWrite,
      preview: (number, place) => this.#preview(number, place),
      drop: (number, place) => {
        this.#preview(number, place);
        this.#store(number);
      },
      cancel: (number) => this.#dispatch({ act: "refused", number }),
    };
  }

  /** Space lifts and drops the focused card, arrows move it, Esc takes it back; Enter opens the task. */
  pressed = (event) => {
    const card = event.target.closest?.("[data-number]");
    if (!card || event.target !== card || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = Number(card.dataset.number);
    if (event.key === "Enter") card.querySelector("a").click();
    else if (!this.#board.page.mayWrite) return;
    else if (event.key === " ") this.#toggle(number);
    else if (this.#board.lifted !== number) return;
    else if (event.key === "Escape") this.#putBack(number);
    else if (event.key.startsWith("Arrow")) this.#step(number, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #toggle(number) {
    const board = this.#board;
    const { card, column } = find(board.store.state, number);
    if (board.lifted === number) {
      board.lifted = 0;
      board.focused = number;
      board.announcer.alert(`${card.key} dropped in ${column.status.name}`);
      if (board.store.state.moves.has(number)) this.#store(number);
    } else {
      board.lifted = number;
      board.announcer.alert(`${card.key} lifted. Arrow keys move it, Space drops it, Escape takes it back.`);
    }
    board.update();
  }

  #step(number, key) {
    const { columns } = this.#board.store.state;
    const at = find(this.#board.store.state, number);
    const place = stepOf(key, columns, at);
    if (!place) return;
    this.#preview(number, place);
    const { column, index } = find(this.#board.store.state, number);
    this.#board.announcer.alert(`${column.status.name}, place ${index + 1} of ${column.cards.length}`);
  }

  #putBack(number) {
    this.#board.lifted = 0;
    this.#board.focused = number;
    this.#dispatch({ act: "refused", number });
    this.#board.announcer.alert("Move taken back");
    this.#board.update();
  }

  #preview(number, { status, index }) {
    this.#dispatch({ act: "move", number, status, index });
  }

  async #store(number) {
    const board = this.#board;
    const { column } = find(board.store.state, number);
    try {
      await board.data.move(number, column.status.id, placeOf(board.store.state, number));
      board.notice = null;
    } catch (error) {
      this.#dispatch({ act: "refused", number });
      board.show(error);
    }
  }

  #dispatch(action) {
    this.#board.store.dispatch(action);
  }
}
