// <paca-follow-end>: its scroll area stays at the end while it grows, until the reader scrolls up. Then the
// lines they read stay in place, also while lines before them are taken away.

const AT_END_PX = 12;

class FollowEnd extends HTMLElement {
  /** How many lines were taken away at the beginning; set before the content changes. */
  removed = 0;
  #removedBefore = 0;
  #atEnd = true;
  #observer = new MutationObserver(() => this.#follow());

  connectedCallback() {
    // Scroll events do not bubble, but they can be captured.
    this.addEventListener("scroll", this.#scrolled, { capture: true, passive: true });
    this.#observer.observe(this, { childList: true, characterData: true, subtree: true });
    if (this.hasAttribute("live")) this.#follow();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
  }

  get #area() {
    return this.querySelector("pre");
  }

  #scrolled = () => {
    const { scrollHeight, scrollTop, clientHeight } = this.#area;
    this.#atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
  };

  // Without `live` the content does not grow: the only change is from live output to the result.
  #follow() {
    const area = this.#area;
    if (!area) return;
    if (this.#atEnd) area.scrollTop = area.scrollHeight;
    else if (this.hasAttribute("live")) area.scrollTop -= (this.removed - this.#removedBefore) * parseFloat(getComputedStyle(area).lineHeight);
    this.#removedBefore = this.removed;
  }
}

if (!customElements.get("paca-follow-end")) customElements.define("paca-follow-end", FollowEnd);
