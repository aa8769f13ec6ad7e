// Moving cards by pointer and by keyboard. The board is told where a card goes; it moves the card itself.

const START_PX = 6;
const LONG_PRESS_MS = 350;
const EDGE_PX = 56;
const SCROLL_PX = 14;

/** The place under a point: {status, index}, or null outside the columns. */
function placeAt(x, y, number) {
  const column = document.elementFromPoint(x, y)?.closest("[data-status]");
  if (!column) return null;
  const cards = [...column.querySelectorAll("[data-number]")].filter((card) => card.dataset.number !== String(number));
  const below = cards.findIndex((card) => {
    const { top, height } = card.getBoundingClientRect();
    return y < top + height / 2;
  });
  return { status: column.dataset.status, index: below < 0 ? cards.length : below };
}

/** Lets people drag cards inside `root`. `acts` are {mayMove(), preview(number, place), drop(number, place), cancel(number)}. */
export class PointerDrag {
  #root;
  #acts;
  #drag = null; // {number, x, y, moving, place}
  #press = 0;
  #frame = 0;

  constructor(root, acts) {
    this.#root = root;
    this.#acts = acts;
    root.addEventListener("pointerdown", this.#down);
    root.addEventListener("click", this.#click, { capture: true });
    root.addEventListener("touchmove", this.#touch, { passive: false });
  }

  disconnect() {
    this.#end();
    this.#root.removeEventListener("pointerdown", this.#down);
    this.#root.removeEventListener("click", this.#click, { capture: true });
    this.#root.removeEventListener("touchmove", this.#touch);
  }

  #down = (event) => {
    const card = event.target.closest("[data-number]");
    if (!card || event.button !== 0 || !this.#acts.mayMove()) return;
    const touch = event.pointerType !== "mouse";
    this.#drag = { number: Number(card.dataset.number), x: event.clientX, y: event.clientY, moving: false, place: null, touch };
    // A finger that moves at once scrolls; one that rests first lifts the card.
    if (touch) this.#press = setTimeout(() => this.#lift(), LONG_PRESS_MS);
    addEventListener("pointermove", this.#move);
    addEventListener("pointerup", this.#up);
    addEventListener("pointercancel", this.#cancel);
    addEventListener("keydown", this.#key, { capture: true });
  };

  #lift() {
    if (this.#drag) this.#drag.moving = true;
    this.#root.classList.add("is-dragging");
  }

  #move = (event) => {
    const drag = this.#drag;
    const far = Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > START_PX;
    if (!drag.moving) {
      if (!far) return;
      if (drag.touch) return this.#end();
      this.#lift();
    }
    event.preventDefault();
    [drag.x, drag.y] = [event.clientX, event.clientY];
    // One layout read and one render in each frame, however many moves come.
    this.#frame ||= requestAnimationFrame(() => this.#follow());
  };

  #follow() {
    this.#frame = 0;
    const drag = this.#drag;
    if (!drag?.moving) return;
    this.#scroll(drag);
    const place = placeAt(drag.x, drag.y, drag.number);
    if (place && (place.status !== drag.place?.status || place.index !== drag.place?.index)) {
      drag.place = place;
      this.#acts.preview(drag.number, place);
    }
  }

  #scroll({ x, y }) {
    const { left, right } = this.#root.getBoundingClientRect();
    if (x > right - EDGE_PX) this.#root.scrollLeft += SCROLL_PX;
    else if (x < left + EDGE_PX) this.#root.scrollLeft -= SCROLL_PX;
    const body = document.elementFromPoint(x, y)?.closest(".column-body");
    if (!body) return;
    const { top, bottom } = body.getBoundingClientRect();
    if (y > bottom - EDGE_PX) body.scrollTop += SCROLL_PX;
    else if (y < top + EDGE_PX) body.scrollTop -= SCROLL_PX;
  }

  #up = () => {
    const { moving, number, place } = this.#drag;
    if (moving && place) this.#acts.drop(number, place);
    this.#moved = moving;
    this.#end();
  };

  #moved = false;

  // The click at the end of a drag opens nothing.
  #click = (event) => {
    if (!this.#moved) return;
    this.#moved = false;
    event.preventDefault();
    event.stopPropagation();
  };

  #touch = (event) => {
    if (this.#drag?.moving) event.preventDefault();
  };

  #key = (event) => {
    if (event.key !== "Escape" || !this.#drag?.moving) return;
    event.preventDefault();
    event.stopPropagation();
    this.#cancel();
  };

  #cancel = () => {
    if (this.#drag?.moving) this.#acts.cancel(this.#drag.number);
    this.#end();
  };

  #end() {
    clearTimeout(this.#press);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#drag = null;
    this.#root.classList.remove("is-dragging");
    removeEventListener("pointermove", this.#move);
    removeEventListener("pointerup", this.#up);
    removeEventListener("pointercancel", this.#cancel);
    removeEventListener("keydown", this.#key, { capture: true });
  }
}

/** The place that an arrow key moves a lifted card to: {status, index}, or null at an edge. */
export function stepOf(key, columns, { column, index }) {
  const at = columns.indexOf(column);
  if (key === "ArrowUp") return index > 0 ? { status: column.status.id, index: index - 1 } : null;
  if (key === "ArrowDown") return index < column.cards.length - 1 ? { status: column.status.id, index: index + 1 } : null;
  const beside = columns[at + (key === "ArrowRight" ? 1 : -1)];
  return beside ? { status: beside.status.id, index: Math.min(index, beside.cards.length) } : null;
}
