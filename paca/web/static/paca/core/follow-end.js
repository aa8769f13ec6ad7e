// <paca-follow-end>: its scroll area stays at the end while it grows, until the reader scrolls up.

const AT_END_PX = 12;

class FollowEnd extends HTMLElement {
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
    if (this.#atEnd && area) area.scrollTop = area.scrollHeight;
  }
}

if (!customElements.get("paca-follow-end")) customElements.define("paca-follow-end", FollowEnd);
