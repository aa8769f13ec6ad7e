// Forms, choices and buttons that call the API: what a template marks with data-api is sent as JSON.
//
// <form data-api="PATCH /api/..." data-match="ISO">   sends its changed fields; a name such as "limits.steps" nests
// <select data-api="PATCH /api/..." name="role_id">   sends its value at once
// <button data-api="DELETE /api/..." data-ask="Remove Ada?" data-ask-text="..." data-yes="Remove">   asks first
//
// After a success the page is loaded again, or `data-next` is opened, where ID stands for the id of the answer.

import { ApiError, call, newClientId } from "./api.js";
import { ask } from "./dialog.js";
import { noteFocus, refocus } from "./refocus.js";

const READERS = new Map([
  ["optional", (field) => field.value.trim() || undefined], // an empty field is not sent
  ["null", (field) => field.value || null],
  ["number", (field) => (field.value === "" ? null : Number(field.value))],
  ["checkbox", (field) => field.checked],
  ["json", (field) => (field.value.trim() ? JSON.parse(field.value) : {})],
  ["words", (field) => field.value.split(/[\s,;]+/).filter(Boolean)],
  ["env", (field) => pairs(field.value, "=")],
  ["headers", (field) => pairs(field.value, ":")],
  // A table as it is pasted: a line for each row, commas or tabs between the cells. `data-columns` names them.
  ["table", (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const cells = line.split(/\t|,/).map((cell) => cell.trim());
    const columns = field.dataset.columns.split(" ");
    const row = Object.fromEntries(columns.map((name, at) => [name, cells[at]]).filter(([, cell]) => cell));
    if (row.name && !row.handle) row.handle = handleOf(row.name);
    if (row.tags) row.tags = row.tags.split(/\s+/);
    return row;
  })],
  ["lines-or-null", (field) => (field.value.trim() ? READERS.get("lines")(field) : null)],
  ["lines", (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean)],
]);

// "NAME=value" or "Name: value", one a line, as an object.
function pairs(text, sign) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf(sign);
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  }));
}

/** "Rosa Parks" as a handle: "rosa-parks". */
export function handleOf(name) {
  return name.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
}

function valueOf(field) {
  return (READERS.get(field.dataset.read ?? field.type) ?? ((each) => each.value))(field);
}

function isChanged(field) {
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (field.tagName === "SELECT") return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

// The value with which the server rendered the field.
function renderedValueOf(field) {
  const chosen = field.tagName === "SELECT" ? [...field.options].find((option) => option.defaultSelected) ?? field.options[0] : null;
  const rendered = { value: chosen ? chosen.value : field.defaultValue, checked: field.defaultChecked };
  return (READERS.get(field.dataset.read ?? field.type) ?? ((each) => each.value))(rendered);
}

// The present value of a field: of "limits.steps" that of the inner object, of "role_id" the id of the role.
function valueAt(object, name) {
  const found = name.split(".").reduce((inner, part) => inner?.[part], object);
  return found === undefined && name.endsWith("_id") ? object[name.slice(0, -3)]?.id : found;
}

/** A value as people read it on the page. */
function inWords(field, value) {
  if (field.tagName === "SELECT") return [...field.options].find((option) => option.value === String(value))?.textContent ?? String(value);
  if (Array.isArray(value)) return value.join(", ") || "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// From now on a field counts as changed if it differs from the present value. What the person chose stays.
function rebase(field, now) {
  const { value, checked } = field;
  if (field.tagName === "SELECT") for (const option of field.options) option.defaultSelected = option.value === String(now);
  else if (field.dataset.list !== undefined) field.defaultChecked = now.map(String).includes(field.value);
  else if (field.type === "checkbox") field.defaultChecked = now;
  else if (field.dataset.read?.startsWith("lines")) field.defaultValue = (now ?? []).join("\n");
  else if (field.dataset.read === "env") field.defaultValue = Object.entries(now).map((pair) => pair.join("=")).join("\n");
  else if (field.dataset.read === "headers") field.defaultValue = Object.entries(now).map((pair) => pair.join(": ")).join("\n");
  else if (field.dataset.read === "words") field.defaultValue = now.join(", ");
  else if (field.dataset.read === "json") field.defaultValue = JSON.stringify(now, null, 2);
  else if (field.type !== "radio") field.defaultValue = now ?? "";
  if (field.type === "checkbox") field.checked = checked;
  else field.value = value;
}

function isSame(one, other) {
  const [first, second] = [one, other].map((value) => (Array.isArray(value) ? value.map(String).sort() : value));
  return JSON.stringify(first) === JSON.stringify(second);
}

/** The fields of a form as a nested object; only the changed ones for a PATCH. Throws SyntaxError for bad JSON. */
export function bodyOf(form, onlyChanged) {
  const body = {};
  const fields = [...form.elements].filter((field) => field.name && !field.disabled);
  // A list of boxes is one value: it is sent whole if one of them has changed.
  const changed = new Set(fields.filter(isChanged).map((field) => field.name));
  for (const field of fields) {
    if (onlyChanged && !changed.has(field.name)) continue;
    if (field.type === "radio" && !field.checked) continue;
    const path = field.name.split(".");
    const last = path.pop();
    const target = path.reduce((inner, name) => (inner[name] ??= {}), body);
    if (field.dataset.list !== undefined) (target[last] ??= []).push(...(field.checked ? [field.value] : []));
    else target[last] = valueOf(field);
  }
  return body;
}

class ApiForm {
  #form;
  #key = newClientId();

  constructor(form) {
    this.#form = form;
    form.noValidate = true; // the server's words are shown beside the fields
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.submit();
    });
    form.addEventListener("input", () => this.#showChanges());
    form.addEventListener("reset", () => setTimeout(() => {
      this.#clear();
      this.#showChanges();
    }));
    addEventListener("beforeunload", this.#leaving);
    // What was typed before this script ran. After a reload the browser itself has put values back.
    const [opened] = performance.getEntriesByType("navigation");
    if (opened.type === "navigate" && this.#changed.length) this.#showChanges();
  }

  get #changed() {
    return [...this.#form.elements].filter((field) => field.name && isChanged(field));
  }

  // Words that are not saved are not lost without a question.
  #leaving = (event) => {
    if (this.#changed.length) event.preventDefault();
  };

  #showChanges() {
    const bar = this.#form.querySelector("[data-savebar]");
    if (bar) bar.hidden = !this.#changed.length && !this.#form.querySelector("[aria-invalid]");
  }

  async submit() {
    if (this.#form.ariaBusy === "true") return;
    this.#clear();
    const patch = method(this.#form) === "PATCH";
    let body;
    try {
      body = this.#form.enctype === "multipart/form-data" ? new FormData(this.#form) : bodyOf(this.#form, patch);
    } catch {
      this.#show({ parameters: ["This is no JSON object."] }, "A field is not valid.");
      return;
    }
    if (patch && !Object.keys(body).length) return; // nothing has changed
    this.#busy(true);
    try {
      const answer = await send(this.#form, body, { idempotencyKey: patch ? undefined : this.#key });
      this.#stored(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status && error.status < 500) this.#key = newClientId();
      if (error.status === 412) this.#showPresent(error.present);
      else this.#show(error.fields, error.message);
    }
    this.#busy(false);
  }

  #busy(value) {
    this.#form.ariaBusy = String(value);
    // The button with the focus stays as it is: a disabled one would lose it.
    for (const button of this.#form.querySelectorAll("button:not([type=button])")) button.disabled = value && button !== document.activeElement;
  }

  #clear() {
    for (const each of this.#form.querySelectorAll(".field-error[data-said], .form-error")) each.remove();
    for (const field of this.#form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }

  // The fields that the person has changed, with the values of the page, of the person and of the server now.
  #differences(present) {
    const names = [...new Set(this.#changed.map(({ name }) => name))];
    const mine = bodyOf(this.#form, true);
    return names.map((name) => {
      const fields = [...this.#form.elements].filter((field) => field.name === name);
      const boxes = fields[0].dataset.list !== undefined;
      const before = boxes ? fields.filter((field) => field.defaultChecked).map(({ value }) => value) : renderedValueOf(fields[0]);
      return { field: fields[0], before, mine: valueAt(mine, name), now: valueAt(present, name) };
    });
  }

  // Both values are shown: the person's in the field, the present one beside it. Saving again replaces it.
  #showPresent(present) {
    if (!present) {
      this.#show({}, "Somebody changed this meanwhile. Load the page again; your words are still in the fields until then.");
      return;
    }
    const found = this.#differences(present);
    if (found.every(({ mine, now }) => isSame(mine, now))) {
      this.#stored(present); // by an earlier attempt, whose answer was lost
      return;
    }
    this.#form.dataset.match = present.updated_at;
    for (const { field, before, now } of found) {
      if (now === undefined || isSame(now, before)) continue;
      field.closest("fieldset, .field, .set-row, label, div").append(errorLine(`It is now: ${inWords(field, now)}`));
      for (const each of [...this.#form.elements].filter(({ name }) => name === field.name)) rebase(each, now);
    }
    this.#show({}, "Somebody changed this meanwhile. Your values are kept. Compare them with the present ones, then save again.");
  }

  #stored(answer) {
    removeEventListener("beforeunload", this.#leaving);
    done(this.#form, answer);
  }

  /** Show each error beside its field, and those without one at the end of the form. */
  #show(fields, detail) {
    const rest = [];
    let first = null;
    for (const [name, texts] of flat(fields)) {
      const field = this.#form.elements.namedItem(name);
      const one = field instanceof RadioNodeList ? field[0] : field;
      if (!one) {
        // "agents.2.handle" is a cell of the third row of a table.
        const [, at, cell] = name.match(/\.(\d+)\.(.+)$/) ?? [];
        rest.push(...texts.map((text) => (at ? `Row ${Number(at) + 1}, ${cell}: ${text}` : text)));
        continue;
      }
      one.setAttribute("aria-invalid", "true");
      one.closest(".field, .set-row, label, div").append(errorLine(texts.join(" ")));
      first ??= one;
    }
    if (!first) rest.unshift(detail);
    if (rest.length) {
      const line = errorLine(rest.join(rest[0].startsWith("Row ") || rest[1]?.startsWith("Row ") ? "\n" : " "));
      line.className = "field-error form-error";
      (this.#form.querySelector("[data-errors]") ?? this.#form).append(line);
    }
    document.getElementById("alert").textContent = detail;
    this.#showChanges();
    first?.focus();
  }
}

function errorLine(text) {
  const line = document.createElement("p");
  line.className = "field-error";
  line.dataset.said = "";
  line.textContent = text;
  return line;
}

/** {"limits": {"steps": ["..."]}} and {"limits.steps": ["..."]} both as [["limits.steps", ["..."]]]. */
function flat(fields, before = "") {
  return Object.entries(fields).flatMap(([name, value]) => (
    Array.isArray(value) ? [[before + name, value.map(String)]] : flat(value, `${before}${name}.`)
  ));
}

function method(element) {
  return element.dataset.api.split(" ")[0];
}

function send(element, body, options = {}) {
  const [verb, path] = element.dataset.api.split(" ");
  return call(verb, path, body, { ifMatch: element.dataset.match || undefined, ...options });
}

function done(element, answer) {
  const event = new CustomEvent("paca:done", { bubbles: true, cancelable: true, detail: answer });
  if (!element.dispatchEvent(event)) return; // the page shows the answer itself
  const next = element.dataset.next?.replace("ID", answer?.id ?? "");
  if (next) location.assign(next);
  else reload();
}

function reload() {
  noteFocus();
  location.reload();
}

async function act(element, body) {
  try {
    done(element, await send(element, body));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 412 && error.present) await decide(element, error.present);
    else {
      await ask({ title: "That did not work", text: error.message, yes: "Close", no: "Back", danger: false });
      reload();
    }
  }
}

// A choice is stored at once, so the person decides between both values in a question.
async function decide(select, present) {
  const value = valueAt(present, select.name);
  const [mine, now] = [select.value, value].map((each) => inWords(select, each));
  select.dataset.match = present.updated_at;
  const replaces = value !== select.value && await ask({
    title: "Somebody changed this meanwhile", text: `It is now “${now}”. You chose “${mine}”.`,
    yes: `Replace it with ${mine}`, no: `Keep ${now}`, danger: false,
  });
  if (replaces) await act(select, { [select.name]: select.value });
  else reload();
}

/** Give all marked elements of the page their effect. */
export function listenToApiForms() {
  refocus();
  for (const form of document.querySelectorAll("form[data-api]")) new ApiForm(form);
  for (const select of document.querySelectorAll("select[data-api]")) {
    select.addEventListener("change", () => act(select, { [select.name]: select.value }));
  }
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("button[data-api]");
    if (!button) return;
    const { ask: title, askText: text, yes, no } = button.dataset;
    if (title && !(await ask({ title, text, yes, no }))) return;
    await act(button, button.dataset.body ? JSON.parse(button.dataset.body) : undefined);
  });
}
