// The base of our custom elements: light DOM, and one render per animation frame however often asked.

import { render } from "../../vendor/lit-html/lit-html.js";

export class PacaElement extends HTMLElement {
  #asked = false;

  connectedCallback() {
    this.update();
  }

  /** Ask for a render; any number of calls before the next frame are one render. */
  update() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Render now, for the rare caller that must measure the result. */
  flush() {
    this.#asked = false;
    if (!this.isConnected) return;
    render(this.template(), this);
    this.rendered();
  }

  /** What to show: a lit-html template. */
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
