// Words that are typed into a form of the server before its script is there.

import { same, test } from "./harness.js";

test("words that were typed before the script of a form ran can be saved, and give their handle", async () => {
  document.body.innerHTML = `<form method="dialog" data-api="PATCH /nowhere/">
    <input id="name" name="name" data-names-handle><input name="handle" data-handle><div data-savebar hidden></div></form>`;
  const field = document.getElementById("name");
  field.value = "Zoe Analyst";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await import("../../../paca/web/static/paca/pages/forms.js");
  same([document.querySelector("[data-handle]").value, document.querySelector("[data-savebar]").hidden], ["zoe-analyst", false]);
});
