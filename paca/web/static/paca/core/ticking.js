// Elements that show a time and keep it right, without a render of anything else.

import { clock, fullDate, secondsBetween, whenShort } from "./time.js";

const ticking = new Set();
let timer = 0;

function tick() {
  for (const element of ticking) element.show();
}

class Ticking extends HTMLElement {
  static observedAttributes = ["at", "seconds"];

  connectedCallback() {
    ticking.add(this);
    timer ||= setInterval(tick, 1000);
    this.show();
  }

  disconnectedCallback() {
    ticking.delete(this);
    if (ticking.size) return;
    clearInterval(timer);
    timer = 0;
  }

  attributeChangedCallback() {
    this.show();
  }

  get elapsed() {
    return secondsBetween(this.getAttribute("at"), new Date());
  }
}

/** <paca-since at="ISO">: "4:12" since then. */
export class Since extends Ticking {
  show() {
    this.textContent = clock(this.elapsed);
  }
}

/** <paca-until at="ISO" seconds="8">: "8 s", counting down to nothing. */
export class Until extends Ticking {
  show() {
    this.textContent = `${Math.max(0, Math.ceil(Number(this.getAttribute("seconds")) - this.elapsed))} s`;
  }
}

/** <paca-when at="ISO">12:43</paca-when>: the server's UTC text, in the reader's own zone. */
export class When extends HTMLElement {
  connectedCallback() {
    const at = this.getAttribute("at");
    this.textContent = whenShort(at);
    this.title = fullDate(at);
  }
}

export function defineTimes() {
  for (const [name, element] of [["paca-since", Since], ["paca-until", Until], ["paca-when", When]]) {
    if (!customElements.get(name)) customElements.define(name, element);
  }
}
