// Going back: a fork begins with a copy of this conversation up to a message, and leaves this one as it is.

import { askText } from "../core/dialog.js";
import { Intents } from "../core/intents.js";
import { MAX_MESSAGE_CHARACTERS } from "../core/limits.js";
import { sendable } from "./unsent-words.js";

/** The actions of `view`, the <paca-conversation>, with an entry. Each opens the fork. */
export function forking(view) {
  const intents = new Intents();
  const { urls } = view.page;

  /** Fork behind the event `seq`, and say `text` there; gives whether it was done. */
  async function open(seq, text) {
    return view.reportErrors(async () => {
      const made = await intents.run(`fork ${seq} ${text}`, (key) => view.connection.fork({ seq, text }, key));
      location.assign(urls.next.replace("CONVERSATION", made.id));
    });
  }

  /** The end of the turn, if the entry at `seq` is the last of it. */
  function withEndOfTurn(seq) {
    const [next] = bySeq([...view.run.entries.values()].filter((entry) => entry.seq > seq));
    return next?.kind === "turn" ? next.seq : seq;
  }

  return {
    /** Go on from an answer in another direction; the person writes next. */
    fork: ({ seq }) => open(withEndOfTurn(seq), ""),

    /** Let the agent answer the message before this answer once more. */
    tryAgain({ seq }) {
      const last = bySeq([...view.run.entries.values()].filter((entry) => entry.kind === "person" && entry.seq < seq)).at(-1);
      if (!last) return view.showError("The message before this answer is not loaded. Scroll up to it, and try again.");
      return open(last.seq - 1, last.text);
    },

    /** Change one's own message, and go on from there. */
    async editMessage({ seq, text: was }) {
      const changed = await askText({
        title: "Change your message", label: "Message", value: was, yes: "Send in a fork", maxLength: MAX_MESSAGE_CHARACTERS,
        text: "It is sent in a new conversation, which knows what was said before it. This conversation stays as it is. The files that it had by then are copied as they are when the agent first uses them.",
      });
      const text = sendable(changed ?? "");
      if (text.trim() && !(await open(seq - 1, text))) view.restoreDraft(text);
    },
  };
}

const bySeq = (entries) => entries.sort((one, other) => one.seq - other.seq);
