// Elements that show a time and update themselves, without a render of the page.

import { clock, fullDate, secondsBetween, serverNow, whenShort } from "./time.js";

const connected = new Set();
let timer = 0;

function updateAll() {
  for (const element of connected) element.show();
}

class TickingElement extends HTMLElement {
  static observedAttributes = ["at", "seconds"];

  connectedCallback() {
    connected.add(this);
    timer ||= setInterval(updateAll, 1000);
    this.show();
  }

  disconnectedCallback() {
    connected.delete(this);
    if (connected.size) return;
    clearInterval(timer);
    timer = 0;
  }

  attributeChangedCallback() {
    this.show();
  }

  get elapsed() {
    return secondsBetween(this.getAttribute("at"), serverNow());
  }
}

/** <paca-since at="ISO">: the time since then, such as "4:12". */
export class ElapsedTime extends TickingElement {
  show() {
    this.textContent = clock(this.elapsed);
  }
}

/** <paca-until at="ISO" seconds="8">: "4:12" or "8 s", counting down to 0. */
export class Countdown extends TickingElement {
  show() {
    const left = Math.max(0, Math.ceil(Number(this.getAttribute("seconds")) - this.elapsed));
    this.textContent = left < 60 ? `${left} s` : clock(left);
  }
}

/** <paca-when at="ISO">: replaces the server's UTC text by the time in the reader's time zone. */
export class LocalTime extends HTMLElement {
  connectedCallback() {
    const at = this.getAttribute("at");
    this.textContent = whenShort(at);
    this.title = fullDate(at);
  }
}

export function defineTimeElements() {
  for (const [name, element] of [["paca-since", ElapsedTime], ["paca-until", Countdown], ["paca-when", LocalTime]]) {
    if (!customElements.get(name)) customElements.define(name, element);
  }
}
