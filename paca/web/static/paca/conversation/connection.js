// The connection of a page to its conversation: frames by REST and socket, commands by the socket.

import { ApiError, call, newClientId } from "../core/api.js";
import { PAGE_EVENTS } from "../core/limits.js";
import { Socket } from "../core/socket.js";
import { serverNow } from "../core/time.js";
import { hasGap } from "./reduce.js";

const GAP_MS = 700;
const REPEAT_MS = 1_000;
const COMMANDS_WITHOUT_TEXT = new Set(["stop", "pause", "resume", "continue"]);

export class Connection {
  #store;
  #base;
  #socket;
  #unsent;
  #unacked = new Map(); // client_id -> frame, sent again after a reconnect; the server drops duplicates
  #ready = false; // the socket is open, and as the person of this page
  #me;
  #gapTimer = 0;

  /**
   * `base`: "/api/v1/projects/<p>/conversations/<c>/"; `unsent`: the UnsentWords of the composer; `me`: the id of
   * the member who writes. `onError(text)` gets errors that belong to no message, `onEditSaved(seq)` is called
   * when the server has an edit, `onEditRefused(text)` gets the words of a refused one, and `onOtherPerson()` is called if another person has signed in since: nothing is sent then.
   */
  constructor(store, { base, socketPath, unsent, me, onError, onEditSaved, onEditRefused, onOtherPerson }) {
    this.#store = store;
    this.#base = base;
    this.#unsent = unsent;
    this.#me = me;
    this.onError = onError;
    this.onEditSaved = onEditSaved;
    this.onEditRefused = onEditRefused;
    this.onOtherPerson = onOtherPerson;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.#socket = new Socket(
      () => `${scheme}//${location.host}${socketPath}?after=${store.state.run.seq}`,
      { frame: (frame) => this.#receive(frame), state: (value) => this.#state(value) },
    );
    // Sent by this tab before a reload or a sign-in, and not confirmed: sent again under the same id.
    for (const message of unsent.messages) this.#keep(message);
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
    return call("GET", `${this.#base}events/?limit=${PAGE_EVENTS}${query}`);
  }

  /** The conversation as it is now. Throws ApiError. */
  describe() {
    return call("GET", this.#base);
  }

  rename(title) {
    return call("PATCH", this.#base, { title });
  }

  /** Ask for a summary in place of what came before; `focus` is what it must keep. Throws ApiError. */
  summarise(focus) {
    return call("POST", `${this.#base}compact/`, { focus });
  }

  /** Move the conversation to the archive, or back. Throws ApiError. */
  archive(archived) {
    return call("PATCH", this.#base, { archived });
  }

  /** How much is stored in the workspace: {exists, bytes, limit_bytes, last_used_at}. */
  workspace() {
    return call("GET", `${this.#base}workspace/`);
  }

  /** Ask the server to remove the sandbox's files for good; an event tells when it is done. */
  removeFiles() {
    return call("DELETE", `${this.#base}workspace/`);
  }

  /** Delete the conversation for everybody, with its log and its files. */
  delete() {
    return call("DELETE", this.#base);
  }

  /** Make a conversation that begins with a copy of this one: `{seq, text}` are its end and a message. Gives the new one. Throws ApiError. */
  fork(input, idempotencyKey) {
    return call("POST", `${this.#base}fork/`, input, { idempotencyKey });
  }

  /** Close the conversation of the chat and open an empty one; `onCleared(id)` gets the new one. */
  clear(onCleared) {
    this.onCleared = onCleared;
    this.command("clear");
  }

  /** Send a message to the agent; `onBusy` is queue or interrupt. It is kept until the server has it. */
  sendMessage(text, onBusy, effort = "", attachments = []) {
    const message = { client_id: newClientId(), text, on_busy: onBusy, effort, attachments, at: serverNow().toISOString() };
    this.#unsent.add(message);
    this.#transmit(this.#keep(message));
  }

  /** Do not send a message that has not been sent yet. Gives its frame, or null if the server has it. */
  recall(clientId) {
    const frame = this.#unacked.get(clientId);
    if (!frame) return null;
    this.#forget(clientId);
    this.#store.dispatch({ act: "recall", client_id: clientId });
    return frame;
  }

  /** Replace the text of a queued message; `seq` is the number of its event. */
  editMessage(seq, text) {
    this.#send({ type: "edit", client_id: newClientId(), event_seq: seq, text });
  }

  /** Take a queued message back. */
  withdrawMessage(seq) {
    this.#send({ type: "withdraw", client_id: newClientId(), event_seq: seq });
  }

  /** Send a control command: stop, pause, resume, continue or clear. */
  command(type) {
    this.#send({ type, client_id: newClientId() });
  }

  #send(frame) {
    this.#unacked.set(frame.client_id, frame);
    this.#transmit(frame);
  }

  /** Send a frame once. Before the server is ready it only waits: `ready` sends all that is not confirmed. */
  #transmit(frame) {
    if (this.#ready) this.#socket.send(frame);
  }

  /** Show a message as pending, and keep its frame until it is confirmed. Gives the frame. */
  #keep({ client_id: clientId, text, on_busy: onBusy, effort = "", attachments = [], at }) {
    const frame = { type: "message", client_id: clientId, text, on_busy: onBusy, ...(effort && { effort }), ...(attachments.length && { attachments }) };
    this.#unacked.set(clientId, frame);
    this.#store.dispatch({ act: "send", client_id: clientId, text, on_busy: onBusy, attachments, at });
    return frame;
  }

  #forget(clientId) {
    this.#unacked.delete(clientId);
    this.#unsent.remove(clientId);
  }

  #receive(frame) {
    if (frame.type === "ready") return this.#begin(frame);
    if (frame.type === "ack") return this.#acked(frame);
    if (frame.type === "error") return this.#refused(frame);
    this.#store.dispatch(frame);
    if (hasGap(this.#store.state.run)) this.#fillGapSoon();
    return undefined;
  }

  #begin(frame) {
    // A new connection has the session that the browser has now, which may be another person's. A server of an
    // earlier version does not say whose it is.
    if (frame.member && frame.member !== this.#me) {
      this.close();
      this.onOtherPerson();
      return;
    }
    this.#ready = true;
    this.#store.dispatch({ act: "ready", conversation: frame.conversation, turn: frame.turn });
    for (const waiting of this.#unacked.values()) this.#socket.send(waiting);
  }

  #acked(frame) {
    if (frame.command === "clear") this.onCleared?.(frame.conversation);
    if (frame.command === "edit") this.onEditSaved(frame.event_seq);
    this.#forget(frame.client_id);
    this.#store.dispatch({ act: "ack", ...frame });
  }

  #refused({ client_id: clientId, code, detail }) {
    const frame = this.#unacked.get(clientId);
    if (frame && code === "rate_limited") {
      setTimeout(() => this.#unacked.has(clientId) && this.#transmit(frame), REPEAT_MS);
      return;
    }
    if (frame?.type === "message") this.#store.dispatch({ act: "refuse", client_id: clientId, detail });
    else this.onError(detail);
    if (frame?.type === "edit") this.onEditRefused(frame.text);
    this.#forget(clientId); // after the dispatch, which puts the words back into the composer
    if (COMMANDS_WITHOUT_TEXT.has(frame?.type)) this.#store.dispatch({ act: "notObeyed" });
  }

  #state(value) {
    this.#ready = false; // each state of the socket tells that it has closed
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
