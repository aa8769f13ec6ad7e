// Where a conversation's frames come from and where the reader's commands go: REST, then the socket.

import { ApiError, call, newClientId } from "../core/api.js";
import { Socket } from "../core/socket.js";
import { hasGap } from "./reduce.js";

const GAP_MS = 700;
const COMMANDS_WITHOUT_TEXT = new Set(["stop", "pause", "resume", "continue"]);

export class Connection {
  #store;
  #base;
  #socket;
  #unacked = new Map(); // client_id -> frame, said again after a reconnect: twice is one message
  #gapTimer = 0;

  /** `base`: "/api/v1/projects/<p>/conversations/<c>/"; `onTrouble(text)` for what has no place. */
  constructor(store, { base, socketPath, onTrouble }) {
    this.#store = store;
    this.#base = base;
    this.onTrouble = onTrouble;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.#socket = new Socket(
      () => `${scheme}//${location.host}${socketPath}?after=${store.state.run.seq}`,
      { frame: (frame) => this.#receive(frame), state: (value) => this.#state(value) },
    );
  }

  open() {
    this.#socket.connect();
  }

  close() {
    clearTimeout(this.#gapTimer);
    this.#socket.end();
  }

  /** The newest rows, or those before a number: {results, first_seq, last_seq}. */
  page(query = "") {
    return call("GET", `${this.#base}events/?limit=200${query}`);
  }

  rename(title) {
    return call("PATCH", this.#base, { title });
  }

  /** Have the files in its sandbox removed for good; the log says when it is done. */
  freeWorkspace() {
    return call("DELETE", `${this.#base}workspace/`);
  }

  /** Write to the agent; `onBusy` is queue or interrupt. */
  say(text, onBusy) {
    const clientId = newClientId();
    this.#store.dispatch({
      act: "send", client_id: clientId, text, on_busy: onBusy, at: new Date().toISOString(),
    });
    this.#send({ type: "message", client_id: clientId, text, on_busy: onBusy });
  }

  /** stop, pause, resume or continue. */
  command(type) {
    this.#send({ type, client_id: newClientId() });
  }

  #send(frame) {
    this.#unacked.set(frame.client_id, frame);
    this.#socket.send(frame);
  }

  #receive(frame) {
    if (frame.type === "ready") return this.#ready(frame);
    if (frame.type === "ack") return this.#acked(frame);
    if (frame.type === "error") return this.#refused(frame);
    this.#store.dispatch(frame);
    if (hasGap(this.#store.state.run)) this.#fillGapSoon();
    return undefined;
  }

  #ready(frame) {
    this.#store.dispatch({ act: "ready", seq: frame.seq, conversation: frame.conversation });
    for (const waiting of this.#unacked.values()) this.#socket.send(waiting);
  }

  #acked(frame) {
    this.#unacked.delete(frame.client_id);
    this.#store.dispatch({ act: "ack", ...frame });
  }

  #refused({ client_id: clientId, detail }) {
    const frame = this.#unacked.get(clientId);
    this.#unacked.delete(clientId);
    if (frame?.type === "message") this.#store.dispatch({ act: "refuse", client_id: clientId, detail });
    else this.onTrouble(detail);
    if (COMMANDS_WITHOUT_TEXT.has(frame?.type)) this.#store.dispatch({ act: "stopping", value: false });
  }

  #state(value) {
    this.#store.dispatch({ act: "connection", value });
  }

  // The missing rows are usually on their way; only if they are not, they are asked for.
  #fillGapSoon() {
    this.#gapTimer ||= setTimeout(async () => {
      this.#gapTimer = 0;
      if (!hasGap(this.#store.state.run)) return;
      try {
        const { results } = await this.page(`&after=${this.#store.state.run.seq}`);
        this.#store.dispatch({ act: "frames", frames: results });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
      if (hasGap(this.#store.state.run)) this.#socket.restart();
    }, GAP_MS);
  }
}
