// The script of an agent's settings: its forms, the section in view, and the context of a new run.

import "./forms.js";
import "../agents/mcp-servers.js";
import "../agents/skill-sources.js";
import "../agents/preview-element.js";
import "../agents/setup-element.js";

const links = new Map([...document.querySelectorAll(".settings > .nav a")].map((link) => [link.hash.slice(1), link]));

// The link of the section in view is marked, as the page scrolls.
const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-10% 0px -80% 0px" });

for (const section of document.querySelectorAll(".set-sec[id]")) observer.observe(section);
