// The socket of a project: tells which objects have changed, so that the page fetches them again.

import { Socket } from "./socket.js";

const GATHER_MS = 150;
const CHANGED = ".changed";

export class ProjectSocket {
  #socket;
  #changes = new Map(); // "noun id" -> the newest frame, with its noun
  #timer = 0;
  #wasReady = false;

  /**
   * `onChanges([{noun, id, ...facts}])` gets the changes of a moment together; `onMissed()` is called after a reconnect,
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
    if (!frame.type.endsWith(CHANGED)) return;
    const noun = frame.type.slice(0, -CHANGED.length); // "task", "comment", "agent.state"
    this.#changes.set(`${noun} ${frame.id}`, { ...frame, noun });
    this.#timer ||= setTimeout(() => this.#tell(), GATHER_MS);
  }

  #tell() {
    this.#timer = 0;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.onChanges(changes);
  }
}
