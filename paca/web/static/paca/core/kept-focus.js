// Keeps the focus of people who use the keyboard: when a control goes with a render, the one in its place gets the focus.

const CONTROLS = ":is(a[href], button, input, select, textarea, summary, [tabindex='0']):not([disabled])";

let byKeyboard = false;
addEventListener("keydown", () => { byKeyboard = true; }, { capture: true });
addEventListener("pointerdown", () => { byKeyboard = false; }, { capture: true });

export class KeptFocus {
  #root;
  #control = null; // what has the focus, or had it until it was disabled or removed
  #renders = false;

  /** `root` renders itself. Controls that fit the selector `except` are left to it. */
  constructor(root, except = "") {
    this.#root = root;
    root.addEventListener("focusin", ({ target }) => { this.#control = except && target.matches(except) ? null : target; });
    root.addEventListener("focusout", (event) => this.#left(event));
  }

  // A control that is removed or disabled loses the focus without an act of the person.
  #left({ target, relatedTarget }) {
    const byPerson = !this.#renders && target.isConnected && !target.disabled;
    if (relatedTarget ? !this.#root.contains(relatedTarget) : byPerson) this.#control = null;
  }

  /** Run a render, and put the focus where it belongs after it. */
  around(render) {
    const places = byKeyboard ? this.#places() : [];
    this.#renders = true;
    try {
      render();
    } finally {
      this.#renders = false;
    }
    if (document.activeElement === document.body) this.#restore(places);
  }

  /** The elements around the control, the nearest first, each with the number of its controls before this one. */
  #places() {
    const places = [];
    if (!this.#control?.isConnected) return places;
    for (let around = this.#control.parentElement; around; around = around === this.#root ? null : around.parentElement) {
      const before = [...around.querySelectorAll(CONTROLS)].findIndex((each) => !(each.compareDocumentPosition(this.#control) & Node.DOCUMENT_POSITION_FOLLOWING));
      places.push([around, Math.max(0, before)]);
    }
    return places;
  }

  #restore(places) {
    const control = this.#control;
    if (!control || !places.length) return;
    if (control.isConnected) {
      if (!control.disabled) control.focus();
      return;
    }
    for (const [around, index] of places) {
      if (!around.isConnected) continue;
      const controls = [...around.querySelectorAll(CONTROLS)].filter((each) => each.checkVisibility?.() ?? true);
      if (!controls.length) continue;
      const next = controls[Math.min(index, controls.length - 1)];
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
      return;
    }
  }
}
