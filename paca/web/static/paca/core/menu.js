// <paca-menu>: a button and its menu, by the ARIA pattern. Its two children come from a template:
// a button with aria-haspopup="menu", and after it an element with role="menu". It fires "open".

export class PacaMenu extends HTMLElement {
  connectedCallback() {
    // Before the item acts, because it may move the focus itself.
    this.addEventListener("click", this.#clicked, { capture: true });
    this.addEventListener("keydown", this.#pressed);
    this.addEventListener("focusout", this.#left);
    if (this.button) this.close();
  }

  get button() {
    return this.querySelector("[aria-haspopup=menu]");
  }

  get menu() {
    return this.querySelector("[role=menu]");
  }

  get items() {
    return [...this.menu.querySelectorAll("[role^=menuitem]")];
  }

  get isOpen() {
    return !this.menu.hidden;
  }

  open(index = 0) {
    if (this.menu.hidden) this.dispatchEvent(new Event("open"));
    this.menu.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.items.at(index)?.focus();
    addEventListener("pointerdown", this.#outside);
  }

  close({ refocus = false } = {}) {
    this.menu.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", this.#outside);
    if (refocus) this.button.focus();
  }

  #clicked = ({ target }) => {
    if (this.button.contains(target)) return this.isOpen ? this.close() : this.open();
    if (target.closest("[role^=menuitem]")) this.close({ refocus: true });
    return undefined;
  };

  #pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !this.isOpen) this.open(step < 0 ? -1 : 0);
    else if (step) this.#move(step);
    else if (event.key === "Escape" && this.isOpen) this.close({ refocus: true });
    else if (event.key === "Home" && this.isOpen) this.items[0].focus();
    else if (event.key === "End" && this.isOpen) this.items.at(-1).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #move(step) {
    const { items } = this;
    const index = items.indexOf(document.activeElement);
    items[(index + step + items.length) % items.length].focus();
  }

  #left = ({ relatedTarget }) => {
    if (this.isOpen && relatedTarget && !this.contains(relatedTarget)) this.close();
  };

  #outside = ({ target }) => {
    if (!this.contains(target)) this.close();
  };
}

export function defineMenu() {
  if (!customElements.get("paca-menu")) customElements.define("paca-menu", PacaMenu);
}
