// Staying at the newest row while the reader is there, and in place while they are not.

const NEAR_PX = 48;
const BEFORE_EDGE_PX = 800;

export class Follow {
  #scroller;
  #atEnd = true;
  #anchor = null;
  #observer;

  /**
   * `onTop()` and `onEnd()` are called when the reader comes near the first or the last row,
   * `onTurn()` when they leave the end or are back there.
   */
  constructor(scroller, { onTop, onEnd, onTurn }) {
    this.#scroller = scroller;
    scroller.addEventListener("scroll", () => {
      const before = this.#atEnd;
      this.#atEnd = this.#distance() < NEAR_PX;
      if (this.#atEnd !== before) onTurn();
      if (scroller.scrollTop < BEFORE_EDGE_PX) onTop();
      if (this.#distance() < BEFORE_EDGE_PX) onEnd();
    }, { passive: true });
    // The composer grows and shrinks below; the end must stay in view then too.
    this.#observer = new ResizeObserver(() => this.settle());
    this.#observer.observe(scroller);
  }

  end() {
    this.#observer.disconnect();
  }

  get atEnd() {
    return this.#atEnd;
  }

  /** Remember the first visible row, before rows are put above it. */
  hold() {
    const top = this.#scroller.getBoundingClientRect().top;
    const row = [...this.#scroller.querySelectorAll("[data-key]")].find(
      (element) => element.getBoundingClientRect().bottom > top,
    );
    this.#anchor = row ? { row, top: row.getBoundingClientRect().top } : null;
  }

  /** After a render: to the end if the reader was there, else exactly where they were. */
  settle() {
    if (this.#anchor) {
      const moved = this.#anchor.row.getBoundingClientRect().top - this.#anchor.top;
      if (moved) this.#scroller.scrollTop += moved;
      this.#anchor = null;
    } else if (this.#atEnd) {
      this.toEnd();
    }
  }

  toEnd() {
    this.#atEnd = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** The reader opened or closed something: what they look at stays where it is. */
  letGo() {
    this.#atEnd = false;
  }

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }
}
