// Tells that a run has ended while its tab was in the background: tab title, icon, and a notification if wanted.

import { goesOnByItself, stateOf } from "./labels.js";

const WANTED = "notify"; // "on", "off", or nothing: not asked yet

export class BackgroundEnd {
  offer = false; // whether to ask, for once, if notifications are wanted
  #view;
  #icon = document.querySelector("link[rel=icon]");
  #plainIcon = this.#icon?.href;
  #prefix = "";

  /** `view` is the <paca-conversation>. */
  constructor(view) {
    this.#view = view;
    document.addEventListener("visibilitychange", this.#seen);
  }

  stop() {
    document.removeEventListener("visibilitychange", this.#seen);
  }

  /** Whether this browser can notify at all: not on plain HTTP, and not on every phone. */
  get possible() {
    return "Notification" in window;
  }

  get wanted() {
    return this.possible && Notification.permission === "granted" && stored() === "on";
  }

  /** Switch notifications on or off. Gives why that is not possible, or "". */
  async want(on) {
    this.offer = false;
    if (on && (await Notification.requestPermission()) !== "granted") {
      store("off");
      return "This browser blocks notifications of this site. Allow them in its site settings, then try again.";
    }
    store(on ? "on" : "off");
    return "";
  }

  changed(after, before) {
    if (document.hidden && goesOnByItself(before) && !goesOnByItself(after)) this.#ended(after);
    const title = after.title || "New conversation";
    document.title = `${this.#prefix}${title} · Paca`;
  }

  #ended(run) {
    const { label, reason } = stateOf(run);
    this.#prefix = `${label} · `;
    if (this.#icon) this.#icon.href = this.#icon.dataset.ended;
    if (this.wanted) this.#notify(reason ? `${label} · ${reason}` : label, run.title);
  }

  #notify(state, title) {
    const { agent, conversation } = this.#view.page;
    try {
      const shown = new Notification(`${agent.name}: ${state}`, { body: title, tag: conversation.id });
      shown.onclick = () => {
        window.focus();
        shown.close();
      };
    } catch {
      // Chrome on Android has the permission and not the notification; title and icon tell it.
    }
  }

  #seen = () => {
    if (document.hidden || !this.#prefix) return;
    this.#prefix = "";
    if (this.#icon) this.#icon.href = this.#plainIcon;
    this.offer = this.possible && Notification.permission === "default" && stored() === null;
    if (this.offer) store("off"); // asked for once, whatever the answer
    this.changed(this.#view.run, this.#view.run);
    this.#view.update();
  };
}

function stored() {
  try {
    return localStorage.getItem(WANTED);
  } catch {
    return "off";
  }
}

function store(value) {
  try {
    localStorage.setItem(WANTED, value);
  } catch {
    // The browser forbids storage: notifications stay off.
  }
}
