// How full the model's window is, in numbers and words. `context` is {used, window, parts}, as the server tells it.

const PARTS = [
  ["system", "Instructions"], ["tools", "Tools"], ["messages", "Messages"], ["results", "Results of tools"],
];
const NEARLY_FULL = 80; // percent
const FULL = 100;

/** How full the window is, in percent; null if the window is unknown. */
export function percentOf({ used, window }) {
  return window ? Math.round((100 * used) / window) : null;
}

/** "Context: 41 %, 82,000 of 200,000 tokens". */
export function inWords(context) {
  const percent = percentOf(context);
  return `Context: ${percent == null ? "" : `${percent} %, `}${inNumbers(context)}`;
}

/** "82,000 of 200,000 tokens", "82,000 tokens" if the window is unknown. */
export function inNumbers({ used, window }) {
  return window ? `${count(used)} of ${count(window)} tokens` : `${count(used)} tokens`;
}

/** "41 %"; "82k" if the window is unknown. */
export function short(context) {
  const percent = percentOf(context);
  if (percent != null) return `${percent} %`;
  return context.used < 1000 ? `${context.used}` : `${Math.round(context.used / 1000)}k`;
}

/** What fills the window, each with its label and number of tokens. */
export function partsInWords({ parts }) {
  return PARTS.map(([name, label]) => [label, count(parts[name] ?? 0)]);
}

/** The class of a meter that is nearly or wholly full. */
export function toneOf(percent) {
  if (percent >= FULL) return "is-full";
  return percent >= NEARLY_FULL ? "is-nearly-full" : "";
}

function count(tokens) {
  return tokens.toLocaleString("en");
}
