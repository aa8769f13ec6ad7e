// A server whose answers the test holds, and a wait for what the page shows then.

/** A server that answers when the test lets it: `answers` has the object of each address. */
export class HeldServer {
  #waiting = [];
  #isHeld = true;

  constructor(answers) {
    globalThis.fetch = (address, { method }) => new Promise((resolve) => {
      const found = answers[`${method} ${address.split("?")[0]}`] ?? { results: [], next: null };
      this.#waiting.push(() => resolve(new Response(JSON.stringify(found))));
      if (!this.#isHeld) this.#answer();
    });
  }

  get isAsked() {
    return this.#waiting.length > 0;
  }

  #answer() {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  letGo() {
    this.#isHeld = false;
    this.#answer();
  }
}

export async function until(found) {
  for (let frame = 0; frame < 300; frame += 1) {
    const value = found();
    if (value) return value;
    await new Promise(requestAnimationFrame);
  }
  throw new Error(`never true: ${found}`);
}
