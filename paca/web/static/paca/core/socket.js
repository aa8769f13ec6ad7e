// A WebSocket that reconnects by itself and reports its state.

const FINAL = new Map([[4401, "signed-out"], [4403, "forbidden"], [4404, "missing"]]);
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
const PING_MS = 25_000;
const SILENCE_MS = 60_000;

export class Socket {
  #url;
  #handlers;
  #socket = null;
  #attempt = 0;
  #timer = 0;
  #heartbeat = 0;
  #heard = 0;
  #ended = false;

  /** `url()` is called before each attempt; `handlers` are frame(frame) and state(name). */
  constructor(url, handlers) {
    this.#url = url;
    this.#handlers = handlers;
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
  }

  get open() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    const socket = new WebSocket(this.#url());
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#receive(socket, data);
    socket.onclose = ({ code }) => this.#closed(socket, code);
  }

  /** Send a frame; false if the socket is not open. The caller keeps frames that it must send again. */
  send(frame) {
    if (!this.open) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Drop the connection and connect again. */
  restart() {
    this.#socket?.close();
  }

  end() {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearInterval(this.#heartbeat);
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  #receive(socket, data) {
    if (socket !== this.#socket) return;
    this.#heard = Date.now();
    const frame = JSON.parse(data);
    if (frame.type === "ready") {
      this.#attempt = 0;
      this.#keepAlive();
    }
    if (frame.type !== "pong") this.#handlers.frame(frame);
  }

  #keepAlive() {
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => {
      // A dead connection may look open for minutes; only its silence shows it.
      if (Date.now() - this.#heard > SILENCE_MS) this.restart();
      else this.send({ type: "ping" });
    }, PING_MS);
  }

  #closed(socket, code) {
    if (socket !== this.#socket) return;
    clearInterval(this.#heartbeat);
    this.#socket = null;
    if (this.#ended) return;
    if (FINAL.has(code)) {
      this.#ended = true;
      this.#handlers.state(FINAL.get(code));
      return;
    }
    this.#handlers.state("lost");
    this.#timer = setTimeout(() => this.connect(), this.#wait());
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
