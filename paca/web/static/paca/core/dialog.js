// A question of the page, in a dialog of its own: the title is the question, the buttons are the answers.

import { html, render } from "../../vendor/lit-html/lit-html.js";

/**
 * Ask a question that needs a decision. `yes` is the answer with the effect, `no` the safe one, which has the
 * focus. Gives whether `yes` was pressed; Esc is `no`.
 */
export function ask({ title, text, yes, no = "Cancel", danger = true }) {
  const dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.setAttribute("aria-labelledby", "question");
  dialog.setAttribute("aria-describedby", "question-text");
  render(html`<form method="dialog" class="dialog-body"><h2 id="question">${title}</h2><p id="question-text">${text}</p>
    <div class="dialog-acts"><button class="btn" value="no" autofocus>${no}</button>
      <button class="btn ${danger ? "btn-danger" : "btn-primary"}" value="yes">${yes}</button></div></form>`, dialog);
  const opener = document.activeElement;
  document.body.append(dialog);
  return new Promise((answer) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (opener?.isConnected) opener.focus();
      answer(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}
