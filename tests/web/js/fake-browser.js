// What a socket takes from the browser, moved by the test.

globalThis.addEventListener ??= () => {};
globalThis.removeEventListener ??= () => {};
globalThis.document ??= { addEventListener() {}, removeEventListener() {}, hidden: false };

/** A browser whose time is moved by the test, and whose links the test opens, answers and cuts. */
export class FakeBrowser {
  time = 0;
  links = [];
  timers = new Map();
  #next = 1;

  open = () => {
    const link = { readyState: 0, sent: [], send: (text) => link.sent.push(JSON.parse(text)), close() {} };
    this.links.push(link);
    return link;
  };

  now = () => this.time;

  after = (ms, act) => this.#add(ms, act, 0);

  every = (ms, act) => this.#add(ms, act, ms);

  cancel = (timer) => this.timers.delete(timer);

  #add(ms, act, repeat) {
    this.#next += 1;
    this.timers.set(this.#next, { at: this.time + ms, act, repeat });
    return this.#next;
  }

  /** Let the time pass; timers act when they are due. */
  pass(seconds) {
    const end = this.time + seconds * 1000;
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
      if (!due) break;
      const [timer, { at, act, repeat }] = due;
      this.time = at;
      if (repeat) this.timers.set(timer, { at: at + repeat, act, repeat });
      else this.timers.delete(timer);
      act();
    }
    this.time = end;
  }

  get link() {
    return this.links.at(-1);
  }

  begin() {
    this.link.readyState = 1;
    this.say({ type: "ready" });
  }

  say(frame) {
    this.link.onmessage({ data: JSON.stringify(frame) });
  }
}
