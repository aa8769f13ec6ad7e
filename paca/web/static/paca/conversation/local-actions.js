// State changes by the reader and the connection, which are not events of the log.

import { writable } from "./copy-on-write.js";
import { endCommands } from "./event-handlers.js";
import { initialState } from "./initial-state.js";

export const actions = {
  /** A message was sent from the composer; the page shows it at once as pending. */
  send(draft, { client_id: clientId, text, on_busy: onBusy, attachments, at }) {
    writable(draft, "pending").set(clientId, { text, on_busy: onBusy, attachments, at, acked: false });
    draft.refused = null;
  },

  /** The server stored a message. It stays pending until its event is here, which may come first. */
  ack(draft, { client_id: clientId, event_seq: seq }) {
    const message = draft.pending.get(clientId);
    if (!message) return false;
    if (seq != null && seq <= draft.seq) writable(draft, "pending").delete(clientId);
    else writable(draft, "pending").set(clientId, { ...message, acked: true });
    return true;
  },

  /** The server refused a message; its text goes back to the composer. */
  refuse(draft, { client_id: clientId, detail }) {
    const message = draft.pending.get(clientId);
    if (!message) return false;
    writable(draft, "pending").delete(clientId);
    draft.refused = { text: message.text, detail, attachments: message.attachments };
    return true;
  },

  /** The person took a message back before it was sent. */
  recall(draft, { client_id: clientId }) {
    writable(draft, "pending").delete(clientId);
  },

  /** The page refuses to send a text, which stays in the composer. */
  refuseText(draft, { detail }) {
    draft.refused = { text: "", detail };
  },

  /** The reader closed the notice of a refused message. */
  dismissRefusal(draft) {
    if (!draft.refused) return false;
    draft.refused = null;
    return true;
  },

  /** The person pressed Stop. */
  stopping(draft) {
    draft.stopping = true;
    draft.pressedAt = Math.max(draft.known, draft.seq);
  },

  /** The person pressed Pause. */
  pausing(draft) {
    draft.pausing = true;
    draft.pressedAt = Math.max(draft.known, draft.seq);
  },

  /** The server refused a control command. */
  notObeyed(draft) {
    draft.stopping = draft.pausing = false;
  },

  connection(draft, { value }) {
    if (draft.connection === value) return false;
    draft.connection = value;
    return true;
  },

  /** The server described the conversation again. Older facts than those here change nothing. */
  described(draft, { conversation, turn }) {
    if (conversation.last_seq < Math.max(draft.known, draft.seq)) return false;
    const { known, status, reason, waitsFor, title, archived, branch, prUrl, usage, context, todo, plan, planMode, background, ...rest } = initialState(conversation, 0, turn);
    Object.assign(draft, { known, status, reason, waitsFor, title: title || draft.title, archived, branch, prUrl, usage, context, todo, plan, planMode, background });
    if (turn && draft.turn?.number !== turn.number) draft.turn = rest.turn;
    if (known > draft.pressedAt) endCommands(draft, status);
    return true;
  },

  /** The socket is open; the server sends the conversation as it is now. */
  ready(draft, { conversation, turn = null }) {
    draft.connection = "open";
    if (conversation) actions.described(draft, { conversation, turn });
  },
};
