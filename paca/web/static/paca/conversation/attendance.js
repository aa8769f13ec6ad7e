// Whether anybody works at all: asked when a conversation that should go on says nothing.

import { ApiError, call } from "../core/api.js";

const UNDER_WAY = new Set(["queued", "running"]);
const SILENT_MS = 5_000;
const AGAIN_MS = 10_000;
const SOON_MS = 1_000;

export class Attendance {
  missing = false; // no worker takes conversations
  #url;
  #onChange;
  #timer = 0;

  constructor(url, onChange) {
    this.#url = url;
    this.#onChange = onChange;
  }

  /** Something happened in this conversation, which is `status` now. */
  heard(status) {
    clearTimeout(this.#timer);
    if (UNDER_WAY.has(status)) this.#askIn(this.missing ? SOON_MS : SILENT_MS);
    else this.#found(false);
  }

  end() {
    clearTimeout(this.#timer);
    this.#url = "";
  }

  #askIn(ms) {
    if (this.#url) this.#timer = setTimeout(this.#ask, ms);
  }

  #ask = async () => {
    const asked = this.#timer;
    try {
      const found = document.hidden ? null : await call("GET", this.#url);
      if (asked !== this.#timer) return; // something happened meanwhile
      if (found) this.#found(found.working === 0);
    } catch (error) {
      // A page without a connection says so elsewhere.
      if (!(error instanceof ApiError)) throw error;
    }
    if (asked === this.#timer) this.#askIn(AGAIN_MS);
  };

  #found(missing) {
    if (missing === this.missing) return;
    this.missing = missing;
    this.#onChange();
  }
}
