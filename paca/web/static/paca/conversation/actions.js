// What the reader and the connection do to the state; the log has no part in it.

import { own } from "./own.js";

export const actions = {
  /** A message leaves the composer: shown at once as being sent. */
  send(draft, { client_id: clientId, text, on_busy: onBusy, at }) {
    own(draft, "pending").set(clientId, { text, on_busy: onBusy, at, acked: false });
    draft.refused = null;
  },

  /** The server has it. It stays until its event comes, which may have been before. */
  ack(draft, { client_id: clientId, event_seq: seq }) {
    const message = draft.pending.get(clientId);
    if (!message) return false;
    if (seq != null && seq <= draft.seq) own(draft, "pending").delete(clientId);
    else own(draft, "pending").set(clientId, { ...message, acked: true });
    return true;
  },

  /** The server refused a message: its words go back to the composer. */
  refuse(draft, { client_id: clientId, detail }) {
    const message = draft.pending.get(clientId);
    if (!message) return false;
    own(draft, "pending").delete(clientId);
    draft.refused = { text: message.text, detail };
    return true;
  },

  /** The refusal has been read, or what it was about was sent again. */
  forgive(draft) {
    if (!draft.refused) return false;
    draft.refused = null;
    return true;
  },

  stopping(draft, { value }) {
    draft.stopping = value;
  },

  connection(draft, { value }) {
    if (draft.connection === value) return false;
    draft.connection = value;
    return true;
  },

  /**
   * The server's own account of the conversation at `seq`. It counts only when it is about the
   * very frame we stand at: a window that holds no change of status takes it from here.
   */
  ready(draft, { seq, conversation }) {
    draft.connection = "open";
    if (!conversation || seq !== draft.seq) return;
    const { status, reason = "" } = conversation;
    if (status !== draft.status) Object.assign(draft, { status, reason });
    draft.title ||= conversation.title ?? "";
  },
};
