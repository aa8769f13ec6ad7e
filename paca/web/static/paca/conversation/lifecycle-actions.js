// What the menu of a conversation does with the whole of it: pause, start over, remove, delete, notify.

import { ApiError } from "../core/api.js";
import { ask, askWords } from "../core/dialog.js";
import { filesInWords } from "../core/sizes.js";

const MAX_FOCUS_CHARACTERS = 2000;

/** The actions of `view`, the <paca-conversation>. What cannot be undone is asked first. */
export function lifecycleActions(view) {
  const { agent, urls } = view.page;
  return {
    /** Pause after the step that runs. Continue or a message goes on. */
    pause() {
      view.store.dispatch({ act: "pausing" });
      view.connection.command("pause");
    },

    /** Close this conversation and open an empty one of the same chat. */
    async clear() {
      const sure = await ask({
        title: `Start over with ${agent.name}?`, yes: "Start over", danger: false,
        text: `This conversation stops and stays readable. The next one begins empty: ${agent.name} knows nothing of this one and has none of its files.`,
      });
      if (sure) view.connection.clear((id) => location.assign(`${urls.next.replace("CONVERSATION", id)}?write`));
    },

    /** Let the model go on with a summary in place of what came before. */
    async summarise() {
      const focus = await askWords({
        title: "Summarise what came before?", yes: "Summarise", label: "Keep above all (optional)", maxLength: MAX_FOCUS_CHARACTERS,
        text: `${agent.name} goes on with a summary in place of what came before. It is made after the step that runs, or before the next message is answered. Everything stays readable here.`,
      });
      if (focus !== null) await view.reportErrors(() => view.connection.summarise(focus));
    },

    /** Open the developer view: events, calls in time, requests and replies. */
    async trace() {
      const { openTrace } = await import("../trace/window.js");
      openTrace(view);
    },

    /** Move the conversation to the archive, or back. */
    async archive() {
      const archived = !view.run.archived;
      if (archived) await view.acts.measureFiles();
      const kept = archived ? view.workspace?.archive_keeps_seconds : null;
      if (kept !== null && kept !== undefined && !await ask({
        title: "Archive this conversation?", yes: "Archive",
        text: `The files in its sandbox are removed for good after ${Math.round(kept / 60)} minutes, unless it is brought back before. Its messages stay.`,
      })) return;
      if (await view.reportErrors(() => view.connection.archive(archived))) view.announcer.say(archived ? "Archived" : "Back from the archive");
    },

    /** Load the size of the files, for the menu that opens. It is no error if the server does not tell it. */
    async measureFiles() {
      try {
        view.workspace = await view.connection.workspace();
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
      view.update();
    },

    async removeFiles() {
      if (!view.workspace) await this.measureFiles(); // the menu may still be asking
      const size = filesInWords(view.workspace);
      const sure = await ask({
        title: "Remove the files of this conversation?", yes: "Remove files",
        text: `All files in its sandbox${size ? ` (${size})` : ""} are removed for good. Its messages stay.`,
      });
      if (sure) await view.reportErrors(() => view.connection.removeFiles());
    },

    async delete() {
      const sure = await ask({
        title: "Delete this conversation?", yes: "Delete",
        text: "Its messages, steps and files are removed for everybody. That cannot be undone. Its cost stays in the figures.",
      });
      if (!sure) return;
      await view.reportErrors(async () => {
        await view.connection.delete();
        location.assign(urls.conversations);
      });
    },

    /** Switch the browser's notifications on or off. */
    async notify(on) {
      view.showError(await view.backgroundEnd.want(on));
    },
  };
}
