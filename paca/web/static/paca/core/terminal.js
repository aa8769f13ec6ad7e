// Output of programs, names and prose as safe, readable text.

// Escape sequences: CSI (colours, cursor), OSC (titles, links) up to its end, and short ones.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;
// Characters that change the text direction can show a file name backwards, so in names, code and output
// they are made visible. Prose in Arabic or Hebrew needs them; only overrides, which reverse letters, have
// no place in it.
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const OVERRIDE = /[\u202d\u202e]/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Output as a terminal shows it at the end: without colours, progress lines in their last state. */
export function readable(output) {
  const text = visible(output.replace(ESCAPES, "").replaceAll("\r\n", "\n"));
  return text.includes("\r") ? text.split("\n").map(lastState).join("\n") : text;
}

/** A name, code or output, with invisible characters made visible. */
export function visible(text) {
  return withoutControls(text).replace(DIRECTION, byCode);
}

/** Prose, with the marks of its direction in effect. The element needs `dir="auto"`, which also contains them. */
export function readableProse(text) {
  return withoutControls(text).replace(OVERRIDE, byCode);
}

const byCode = (sign) => `‹U+${sign.charCodeAt(0).toString(16).toUpperCase()}›`;

function withoutControls(text) {
  return text.replace(CONTROL, (sign) => (sign < " " ? String.fromCharCode(0x2400 + sign.charCodeAt(0)) : "\ufffd"));
}

function lastState(line) {
  return line.split("\r").reduce((shown, part) => (part ? part + shown.slice(part.length) : shown), "");
}

/** The last `count` lines, and how many were left out. */
export function tail(text, count) {
  const lines = text.split("\n");
  const cut = Math.max(0, lines.length - count);
  return { text: lines.slice(cut).join("\n"), cut };
}
