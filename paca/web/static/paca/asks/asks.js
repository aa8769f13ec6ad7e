// What waits for a person, each kind with its element, and the keys. Loaded once something waits.

import { html } from "../../vendor/lit-html/lit-html.js";
import { PLACES } from "./ask-words.js";
import "./ask-element.js";
import { askKeys } from "./ask-keys.js";
import "./plan-element.js";
import "./question-element.js";

askKeys();

/** The element of a request; `base` is the address of its conversation in the API. */
export function card(ask, { base, agent, mayDecide, onDecided }) {
  const url = `${base}${PLACES.get(ask.kind) ?? "approvals"}/${ask.call_id}/`;
  if (ask.kind === "question") return html`<paca-question .ask=${ask} .url=${url} .agent=${agent} .mayDecide=${mayDecide} @paca:decided=${onDecided}></paca-question>`;
  if (ask.kind === "plan") return html`<paca-plan .ask=${ask} .url=${url} .agent=${agent} .mayDecide=${mayDecide} @paca:decided=${onDecided}></paca-plan>`;
  return html`<paca-ask .ask=${ask} .url=${url} .agent=${agent} .mayDecide=${mayDecide} @paca:decided=${onDecided}></paca-ask>`;
}
