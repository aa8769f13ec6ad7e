// A WebSocket that reconnects by itself, notices a silent link, and reports its state.

import { noteServerTime } from "./time.js";

const FINAL = new Map([[4401, "signed-out"], [4403, "forbidden"], [4404, "missing"]]);
const TOO_MANY = 1013;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
// A link whose packets vanish looks open for minutes. A ping after 10 quiet seconds, which is not
// answered within 10 more, shows it 25 seconds after its last frame at the latest.
const CHECK_MS = 5_000;
const QUIET_MS = 10_000;
const ANSWER_MS = 10_000;
const CONNECT_MS = 15_000;

/** What a socket takes from the browser; tests give their own. */
export const BROWSER = {
  open: (url) => new WebSocket(url),
  now: () => Date.now(),
  after: (ms, act) => setTimeout(act, ms),
  every: (ms, act) => setInterval(act, ms),
  cancel: (timer) => clearTimeout(timer), // of both kinds
};

export class Socket {
  #url;
  #handlers;
  #browser;
  #socket = null;
  #attempt = 0;
  #timer = 0;
  #watch = 0;
  #began = 0; // when the attempt to connect began
  #heard = 0; // when the last frame came
  #pinged = 0; // when the ping was sent that has no answer yet, or 0
  #ended = false;

  /** `url()` is called before each attempt; `handlers` are frame(frame) and state(name). */
  constructor(url, handlers, browser = BROWSER) {
    this.#url = url;
    this.#handlers = handlers;
    this.#browser = browser;
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
  }

  get open() {
    return this.#socket?.readyState === 1;
  }

  connect() {
    this.#browser.cancel(this.#timer);
    if (this.#ended) return;
    const socket = this.#browser.open(this.#url());
    this.#socket = socket;
    this.#began = this.#browser.now();
    this.#heard = this.#pinged = 0;
    socket.onmessage = ({ data }) => this.#receive(socket, data);
    socket.onclose = ({ code }) => this.#closed(socket, code);
    this.#browser.cancel(this.#watch);
    this.#watch = this.#browser.every(CHECK_MS, () => this.#check());
  }

  /** Send a frame; false if the socket is not open. The caller keeps frames that it must send again. */
  send(frame) {
    if (!this.open) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Drop the connection and connect again. */
  restart() {
    const socket = this.#socket;
    if (!socket) return;
    // Not when it has closed: on a dead link the browser waits for the other side to agree.
    this.#closed(socket, 0);
    socket.close();
  }

  end() {
    this.#ended = true;
    this.#browser.cancel(this.#timer);
    this.#browser.cancel(this.#watch);
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  #receive(socket, data) {
    if (socket !== this.#socket) return;
    this.#heard = this.#browser.now();
    this.#pinged = 0;
    const frame = JSON.parse(data);
    if (frame.type === "ready") {
      this.#attempt = 0;
      noteServerTime(frame.at);
    }
    if (frame.type !== "pong") this.#handlers.frame(frame);
  }

  #check() {
    const now = this.#browser.now();
    if (!this.open) {
      if (now - this.#began >= CONNECT_MS) this.restart();
    } else if (this.#pinged) {
      // Only a ping without an answer proves silence: a hidden tab may be woken once a minute.
      if (now - this.#pinged >= ANSWER_MS) this.restart();
    } else if (now - Math.max(this.#heard, this.#began) >= QUIET_MS) {
      this.#pinged = now;
      this.send({ type: "ping" });
    }
  }

  #closed(socket, code) {
    if (socket !== this.#socket) return;
    this.#browser.cancel(this.#watch);
    this.#socket = null;
    if (this.#ended) return;
    if (FINAL.has(code)) {
      this.#ended = true;
      this.#handlers.state(FINAL.get(code));
      return;
    }
    this.#handlers.state(code === TOO_MANY ? "too-many" : "lost");
    this.#timer = this.#browser.after(this.#wait(), () => this.connect());
  }

  #wait() {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempt);
    this.#attempt += 1;
    // A random delay, so that the pages of a restarted server do not all reconnect at once.
    return longest * (0.5 + Math.random() / 2);
  }

  #hurry = () => {
    if (this.#socket || this.#ended || document.hidden) return;
    this.#attempt = 0;
    this.connect();
  };
}
