// Keeps the newest row in view while the reader is at the end, and the rows in place otherwise.

const AT_END_PX = 48;
const NEAR_EDGE_PX = 800;

export class ScrollFollower {
  #scroller;
  #atEnd = true;
  #anchor = null;
  #observer;

  /**
   * Calls `onNearTop()` and `onNearEnd()` when the reader comes near the first or last row, and
   * `onEndChange()` when they leave the end or return to it.
   */
  constructor(scroller, { onNearTop, onNearEnd, onEndChange }) {
    this.#scroller = scroller;
    scroller.addEventListener("scroll", () => {
      const before = this.#atEnd;
      this.#atEnd = this.#distanceToEnd() < AT_END_PX;
      if (this.#atEnd !== before) onEndChange();
      if (scroller.scrollTop < NEAR_EDGE_PX) onNearTop();
      if (this.#distanceToEnd() < NEAR_EDGE_PX) onNearEnd();
    }, { passive: true });
    // The end must stay in view when the composer below grows or shrinks.
    this.#observer = new ResizeObserver(() => this.restore());
    this.#observer.observe(scroller);
  }

  disconnect() {
    this.#observer.disconnect();
  }

  get atEnd() {
    return this.#atEnd;
  }

  /** Remember the position of the first visible row, before rows are added above it. */
  saveAnchor() {
    const top = this.#scroller.getBoundingClientRect().top;
    const row = [...this.#scroller.querySelectorAll("[data-key]")].find(
      (element) => element.getBoundingClientRect().bottom > top,
    );
    this.#anchor = row ? { row, top: row.getBoundingClientRect().top } : null;
  }

  /** After a render: scroll to the end if the reader was there, else to where they were. */
  restore() {
    if (this.#anchor) {
      const moved = this.#anchor.row.getBoundingClientRect().top - this.#anchor.top;
      if (moved) this.#scroller.scrollTop += moved;
      this.#anchor = null;
    } else if (this.#atEnd) {
      this.scrollToEnd();
    }
  }

  scrollToEnd() {
    this.#atEnd = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** The reader opened or closed a card: keep their place from now on. */
  stopFollowing() {
    this.#atEnd = false;
  }

  #distanceToEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }
}
