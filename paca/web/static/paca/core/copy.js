// Copying to the clipboard. The button shows whether it worked.

const SPRITE = new URL("../icons/icons.svg", import.meta.url).pathname;
const SHOWN_MS = 1600;

/** Copy the text, and show on the button whether it worked. */
export async function copyFrom(button, text) {
  const worked = await write(text);
  const said = button.querySelector("[data-said]");
  const use = button.querySelector("use");
  const before = { icon: use.getAttribute("href"), word: said?.textContent, label: button.title };
  use.setAttribute("href", `${SPRITE}#${worked ? "check" : "x"}`);
  button.title = worked ? "Copied" : "The browser did not allow it";
  if (said) said.textContent = worked ? "Copied" : "Not copied";
  if (button.dataset.copied) return;
  button.dataset.copied = "yes";
  setTimeout(() => {
    use.setAttribute("href", before.icon);
    button.title = before.label;
    if (said) said.textContent = before.word;
    delete button.dataset.copied;
  }, SHOWN_MS);
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeBySelection(text);
  }
}

// The clipboard API is missing on plain HTTP, where a selection still works.
function writeBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr";
  document.body.append(field);
  field.select();
  const worked = document.execCommand("copy");
  field.remove();
  return worked;
}

/** A copy button as a DOM node, for content that no template renders. */
export function copyButton(text, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-quiet btn-s";
  button.title = label;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${SPRITE}#copy`);
  svg.append(use);
  const word = document.createElement("span");
  word.dataset.said = "";
  word.textContent = label;
  button.append(svg, word);
  button.addEventListener("click", () => copyFrom(button, text()));
  return button;
}
