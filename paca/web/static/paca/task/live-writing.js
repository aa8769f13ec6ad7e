// The text that an agent writes for a task, as it is streamed: what the conversation's socket sends of it.

import { Socket } from "../core/socket.js";

const ENDED = new Map([
  ["agent.conversation.finished", ""], ["agent.conversation.stopped", "It was stopped."],
  ["agent.conversation.paused", "It is paused."], ["agent.conversation.failed", "It failed."],
]);

export class LiveWriting {
  text = "";
  #call = "";
  #socket;

  /** `onText()` is called for each new piece, and `onEnd(problem)` once; `problem` is "" after an answer. */
  constructor(conversationId, { onText, onEnd }) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.conversation = conversationId;
    this.onText = onText;
    this.onEnd = onEnd;
    this.#socket = new Socket(() => `${scheme}//${location.host}/ws/conversations/${conversationId}/?after=0`, {
      frame: (frame) => this.#receive(frame),
      state: () => {}, // it connects again, and begins with the text so far
    });
    this.#socket.connect();
  }

  close() {
    this.#socket.end();
  }

  #receive({ type, data }) {
    if (type === "agent.text.streamed") this.#add(data);
    else if (type === "agent.message.spoken") {
      this.text = data.text;
      this.onText();
    } else if (type === "agent.message.discarded") {
      this.text = "";
      this.onText();
    } else if (ENDED.has(type)) {
      this.close();
      this.onEnd(ENDED.get(type));
    }
  }

  // A piece stands at an offset of its call; a new call begins a new text.
  #add({ call_id: call, offset, text }) {
    const before = call === this.#call ? this.text.slice(0, offset) : "";
    this.#call = call;
    this.text = before + text;
    this.onText();
  }
}
