// Templates of icons from the sprite, and of avatars: square identicons for agents, circles for people.

import { html, svg } from "../../vendor/lit-html/lit-html.js";
import { initials, avatarTone, identiconCells } from "./avatars.js";

const SPRITE = new URL("../icons/icons.svg", import.meta.url).pathname;

export function icon(name, classes = "") {
  return html`<svg class="icon ${classes}" aria-hidden="true"><use href="${SPRITE}#${name}"></use></svg>`;
}

/** An icon-only button, with a label that is shown on hover and read by screen readers. */
export function iconButton(name, label, onClick, classes = "btn-s") {
  return html`<button type="button" class="btn btn-icon btn-quiet ${classes}" aria-label=${label} title=${label}
    @click=${onClick}>${icon(name)}</button>`;
}

/** The avatar of a member, or of an agent by its own id: an agent has one picture everywhere. */
export function avatar({ id: ownId, agent_id: agentId, name, kind }, size = "") {
  const id = agentId ?? ownId;
  const classes = `avatar tone-${avatarTone(id)} ${size}`;
  if (kind !== "agent") {
    return html`<span class=${classes} role="img" aria-label=${name}>${initials(name)}</span>`;
  }
  return html`<span class="${classes} is-agent" role="img" aria-label="${name}, agent">${woven(id)}</span>`;
}

function woven(id) {
  return html`<svg viewBox="0 0 25 25" aria-hidden="true">${identiconCells(id).map(
    ([x, y]) => svg`<rect x=${x * 5 + 0.25} y=${y * 5 + 0.25} width="4.5" height="4.5" rx="1.2"></rect>`,
  )}</svg>`;
}
