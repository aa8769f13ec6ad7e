// The socket of a project: tells which objects have changed, so that the page fetches them again.

import { Socket } from "./socket.js";

const GATHER_MS = 150;

export class ProjectSocket {
  #socket;
  #changes = new Map(); // "noun id" -> {noun, id}
  #timer = 0;
  #wasReady = false;

  /**
   * `onChanges([{noun, id}])` gets the changes of a moment together; `onMissed()` is called after a reconnect,
   * when changes may have been missed; `onState(name)` gets lost, ready, signed-out, forbidden or missing.
   */
  constructor(path, { onChanges, onMissed, onState = () => {} }) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.onChanges = onChanges;
    this.onMissed = onMissed;
    this.onState = onState;
    this.#socket = new Socket(() => `${scheme}//${location.host}${path}`, {
      frame: (frame) => this.#receive(frame),
      state: (name) => this.onState(name),
    });
  }

  open() {
    this.#socket.connect();
  }

  close() {
    clearTimeout(this.#timer);
    this.#socket.end();
  }

  #receive(frame) {
    if (frame.type === "ready") {
      this.onState("ready");
      if (this.#wasReady) this.onMissed();
      this.#wasReady = true;
      return;
    }
    const [noun, what] = frame.type.split(".");
    if (what !== "changed") return;
    this.#changes.set(`${noun} ${frame.id}`, { noun, id: frame.id });
    this.#timer ||= setTimeout(() => this.#tell(), GATHER_MS);
  }

  #tell() {
    this.#timer = 0;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.onChanges(changes);
  }
}
