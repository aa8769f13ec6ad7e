// Questions of the page, each in a dialog of its own: the title is the question, the buttons are the answers.

import { html, render } from "../../vendor/lit-html/lit-html.js";

/**
 * Ask a question that needs a decision. `yes` is the answer with the effect, `no` the safe one, which has the
 * focus. Gives whether `yes` was pressed; Esc is `no`.
 */
export async function ask({ title, text, yes, no = "Cancel", danger = true }) {
  const pressed = await show({ title, text }, html`<div class="dialog-acts"><button class="btn" value="no" autofocus>${no}</button>
    <button class="btn ${danger ? "btn-danger" : "btn-primary"}" value="yes">${yes}</button></div>`);
  return pressed !== null;
}

/** Ask for a few words with an answer that has an effect. Gives the words, which may be empty; null for `no`. */
export async function askWords({ title, text, label, maxLength, yes, no = "Cancel" }) {
  const pressed = await show({ title, text }, html`<label class="field"><span class="label">${label}</span>
      <input class="input" name="words" maxlength=${maxLength} autocomplete="off" autofocus></label>
    <div class="dialog-acts"><button class="btn" type="button" @click=${(event) => event.target.closest("dialog").close()}>${no}</button>
      <button class="btn btn-primary" value="yes">${yes}</button></div>`);
  return pressed && (pressed.get("words") ?? "").trim();
}

/** Ask for a text of several lines, which begins as `value`. Gives the text; null for `no`. */
export async function askText({ title, text, label, value, maxLength, yes, no = "Cancel" }) {
  const pressed = await show({ title, text }, html`<label class="field"><span class="label">${label}</span>
      <textarea class="textarea" name="words" rows="6" dir="auto" required maxlength=${maxLength} autofocus .value=${value}></textarea></label>
    <div class="dialog-acts"><button class="btn" value="no" formnovalidate>${no}</button>
      <button class="btn btn-primary" value="yes">${yes}</button></div>`);
  return pressed && pressed.get("words");
}

/** Show a dialog. Gives the data of its form if `yes` was pressed, else null. */
function show({ title, text }, answers) {
  const dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.setAttribute("aria-labelledby", "question");
  dialog.setAttribute("aria-describedby", "question-text");
  render(html`<form method="dialog" class="dialog-body"><h2 id="question">${title}</h2><p id="question-text">${text}</p>
    ${answers}</form>`, dialog);
  const opener = document.activeElement;
  document.body.append(dialog);
  return new Promise((answer) => {
    dialog.addEventListener("close", () => {
      const data = dialog.returnValue === "yes" ? new FormData(dialog.querySelector("form")) : null;
      dialog.remove();
      if (opener?.isConnected) opener.focus();
      answer(data);
    });
    dialog.showModal();
  });
}
