// The socket of a project: tells which objects have changed, so that the page fetches them again.

import { BROWSER, Socket } from "./socket.js";

const GATHER_MS = 150;
const LATEST_LOAD_MS = 500; // the page does not wait longer for its socket
const CHANGED = ".changed";

export class ProjectSocket {
  #socket;
  #handlers;
  #browser;
  #changes = new Map(); // "noun id" -> the newest frame, with its noun
  #gathering = 0;
  #waiting = 0; // the timer of the first load, until it has begun

  /**
   * `load()` loads what the page shows. It is called once the server tells this page of changes, so that no change
   * comes between the two; and again with each reconnect. If that takes long, it is also called before.
   * `onChanges([{noun, id, ...facts}])` gets the changes of a moment together; `onState(name)` gets lost, ready,
   * signed-out, forbidden or missing.
   */
  constructor(path, { load, onChanges, onState = () => {} }, browser = BROWSER) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.#handlers = { load, onChanges, onState };
    this.#browser = browser;
    this.#socket = new Socket(() => `${scheme}//${location.host}${path}`, {
      frame: (frame) => this.#receive(frame),
      state: (name) => this.#stateChanged(name),
    }, browser);
  }

  open() {
    this.#socket.connect();
    this.#waiting = this.#browser.after(LATEST_LOAD_MS, () => this.#loadWithoutSocket());
  }

  close() {
    this.#browser.cancel(this.#gathering);
    this.#browser.cancel(this.#waiting);
    this.#socket.end();
  }

  #loadWithoutSocket() {
    if (!this.#waiting) return;
    this.#browser.cancel(this.#waiting);
    this.#waiting = 0;
    this.#handlers.load();
  }

  #stateChanged(state) {
    this.#handlers.onState(state);
    this.#loadWithoutSocket();
  }

  #receive(frame) {
    if (frame.type === "ready") {
      this.#browser.cancel(this.#waiting);
      this.#waiting = 0;
      this.#handlers.onState("ready");
      this.#handlers.load();
      return;
    }
    if (!frame.type.endsWith(CHANGED)) return;
    const noun = frame.type.slice(0, -CHANGED.length); // "task", "comment", "agent.state"
    this.#changes.set(`${noun} ${frame.id}`, { ...frame, noun });
    this.#gathering ||= this.#browser.after(GATHER_MS, () => this.#tell());
  }

  #tell() {
    this.#gathering = 0;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.#handlers.onChanges(changes);
  }
}
