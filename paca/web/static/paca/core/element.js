// The base of our custom elements: light DOM, and at most one render in each animation frame.

import { render } from "../../vendor/lit-html/lit-html.js";

export class PacaElement extends HTMLElement {
  #requested = false;

  connectedCallback() {
    this.update();
  }

  /** Request a render in the next animation frame. */
  update() {
    if (this.#requested) return;
    this.#requested = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Render now, for callers that must measure the result. */
  flush() {
    this.#requested = false;
    if (!this.isConnected) return;
    render(this.template(), this);
    this.rendered();
  }

  /** The lit-html template to render. */
  template() {
    throw new Error(`${this.localName} has no template`);
  }

  /** Called after each render, with the DOM in place. */
  rendered() {}
}

/** The JSON in an attribute that the server wrote. */
export function jsonAttribute(element, name, otherwise) {
  const text = element.getAttribute(name);
  return text ? JSON.parse(text) : otherwise;
}
