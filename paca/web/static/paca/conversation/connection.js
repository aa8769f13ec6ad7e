// The connection of a page to its conversation: frames by REST and socket, commands by the socket.

import { ApiError, call, newClientId } from "../core/api.js";
import { Socket } from "../core/socket.js";
import { hasGap } from "./reduce.js";

const GAP_MS = 700;
const COMMANDS_WITHOUT_TEXT = new Set(["stop", "pause", "resume", "continue"]);

export class Connection {
  #store;
  #base;
  #socket;
  #unacked = new Map(); // client_id -> frame, sent again after a reconnect; the server drops duplicates
  #gapTimer = 0;

  /** `base`: "/api/v1/projects/<p>/conversations/<c>/"; `onError(text)` gets errors that belong to no message. */
  constructor(store, { base, socketPath, onError }) {
    this.#store = store;
    this.#base = base;
    this.onError = onError;
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

  /** A page of frames, by default the newest: {results, first_seq, last_seq}. Throws ApiError. */
  page(query = "") {
    return call("GET", `${this.#base}events/?limit=200${query}`);
  }

  rename(title) {
    return call("PATCH", this.#base, { title });
  }

  /** Ask the server to remove the sandbox's files for good; an event tells when it is done. */
  removeFiles() {
    return call("DELETE", `${this.#base}workspace/`);
  }

  /** Send a message to the agent; `onBusy` is queue or interrupt. */
  sendMessage(text, onBusy) {
    const clientId = newClientId();
    this.#store.dispatch({
      act: "send", client_id: clientId, text, on_busy: onBusy, at: new Date().toISOString(),
    });
    this.#send({ type: "message", client_id: clientId, text, on_busy: onBusy });
  }

  /** Send a control command: stop, pause, resume or continue. */
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
    else this.onError(detail);
    if (COMMANDS_WITHOUT_TEXT.has(frame?.type)) this.#store.dispatch({ act: "stopping", value: false });
  }

  #state(value) {
    this.#store.dispatch({ act: "connection", value });
  }

  // Missing frames are usually on their way; they are requested only if they do not come soon.
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
