// An error boundary for templates: a part of the page that cannot be rendered harms no other part.

import { noChange } from "../../vendor/lit-html/lit-html.js";
import { Directive, directive } from "../../vendor/lit-html/directive.js";
import { clearPart, setChildPartValue } from "../../vendor/lit-html/directive-helpers.js";

class Boundary extends Directive {
  render() {
    return noChange;
  }

  // Rendered here and not by lit-html, so that errors of the template's values are caught as well.
  update(part, [make, otherwise]) {
    try {
      setChildPartValue(part, make());
    } catch (error) {
      console.error("a part of the page could not be rendered:", error);
      clearPart(part);
      setChildPartValue(part, otherwise(error));
    }
    return noChange;
  }
}

/** `boundary(make, otherwise)` renders the template `make()`, or `otherwise(error)` if that fails. */
export const boundary = directive(Boundary);
