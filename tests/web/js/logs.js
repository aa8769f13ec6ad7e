// Makes logs such as the server writes them: turns with words, thoughts, calls, failures, queueing.

const AT = Date.parse("2026-01-05T09:00:00Z");

/** Builds a log frame by frame; `live` frames carry no number. */
export class Log {
  frames = [];
  seq = 0;
  turn = 0;
  calls = 0;

  add(type, data = {}, source = "agent") {
    this.seq += 1;
    return this.push(type, data, source, this.seq);
  }

  live(type, data) {
    return this.push(type, data, "agent", null);
  }

  push(type, data, source, seq) {
    const at = new Date(AT + this.frames.length * 1000).toISOString();
    this.frames.push({ type: `agent.${type}`, seq, at, source, turn: this.turn, data });
    return this;
  }

  message(text, more = {}) {
    return this.add("message.received", { text, author_id: "m-1", author_name: "Ada Okafor", ...more }, "user");
  }

  begin() {
    this.add("conversation.queued", { trigger: "chat_message", by: "Ada Okafor" }, "system");
    return this.start();
  }

  start() {
    this.turn += 1;
    this.add("conversation.started", { model: "demo/guide", demo: true }, "system");
    return this.add("turn.started", { number: this.turn, triggers: [] }, "system");
  }

  say(text, { seen = this.seq, attempt = 1, pieces = 0 } = {}) {
    const call = this.nextCall("model");
    this.stream("text.streamed", call, text, pieces);
    this.add("usage.recorded", usage(call, seen, attempt));
    return this.add("message.spoken", { text, call_id: call, model: "demo/guide", demo: true });
  }

  stream(type, call, text, pieces) {
    const points = [...text];
    const size = Math.max(1, Math.ceil(points.length / Math.max(1, pieces)));
    if (!pieces) return;
    for (let offset = 0; offset < points.length; offset += size) {
      this.live(type, { call_id: call, offset, text: points.slice(offset, offset + size).join("") });
    }
  }

  use(tool, args, result, { effect = "opaque", subject = "" } = {}) {
    const id = this.call(tool, args, { effect, subject });
    this.add("tool.started", { call_id: id, boot_id: "b1" });
    return this.add("tool.returned", { call_id: id, output: "", failed: false, exit_code: 0, seconds: 0.2, ...result });
  }

  call(tool, args, { effect = "opaque", subject = "", model = "" } = {}) {
    const id = this.nextCall("tool");
    this.add("tool.called", { call_id: id, tool, arguments: args, effect, subject, model_call_id: model });
    return id;
  }

  finish(status = "finished", reason = "answered") {
    this.add("turn.finished", { number: this.turn, status, reason, steps: 2 }, "system");
    return this.add(`conversation.${status}`, { reason }, "system");
  }

  nextCall(kind) {
    this.calls += 1;
    return `${kind}-${this.calls}`;
  }
}

export function usage(call, seen, attempt = 1, outcome = "done") {
  return {
    call_id: call, model: "demo/guide", attempt, outcome, input: 100, output: 20, cache_read: 0,
    cache_write: 0, cost_usd: 0, seen_seq: seen, seconds: 1,
  };
}

const WORDS = ["plain words", "an emoji 🦙 inside", "**bold** and `code`", "two\n\nblocks"];

/** A log of several turns, different for each `random`. */
export function anyLog(random) {
  const log = new Log();
  const pick = (list) => list[Math.floor(random() * list.length)];
  const turns = 1 + Math.floor(random() * 3);
  for (let turn = 0; turn < turns; turn += 1) {
    log.message(pick(WORDS));
    log.begin();
    const steps = Math.floor(random() * 5);
    for (let step = 0; step < steps; step += 1) anyStep(log, random, pick);
    anyEnd(log, random, pick);
  }
  return log.frames;
}

function anyStep(log, random, pick) {
  const chance = random();
  if (chance < 0.2) log.message(`queued: ${pick(WORDS)}`, { on_busy: pick(["queue", "interrupt"]) });
  const seen = random() < 0.5 ? log.seq : 0;
  if (random() < 0.3) log.add("model.retried", { call_id: `lost-${log.seq}`, attempt: 1, wait_seconds: 2, cause: "529" });
  if (random() < 0.3) log.add("thought.recorded", { text: pick(WORDS), call_id: `t-${log.seq}` });
  log.say(pick(WORDS), { seen, pieces: Math.floor(random() * 4) });
  if (random() < 0.2) log.add("message.discarded", { call_id: `d-${log.seq}`, cause: "cancelled", text: "half an ans" });
  const effect = pick(["read_only", "opaque"]);
  const tool = effect === "read_only" ? "read_file" : "bash";
  if (random() < 0.8) log.use(tool, {}, { failed: random() < 0.3, exit_code: 1 }, { effect, subject: "x" });
  if (random() < 0.2) log.call("bash", { command: "sleep 9" }); // left open: the end of the turn closes it
  if (random() < 0.2) log.add(pick(["limit.neared", "sandbox.starting", "sandbox.removed", "invented.type"]), { which: "step_limit", left: 2, backend: "none" });
}

function anyEnd(log, random, pick) {
  if (random() < 0.2) log.add("conversation.interrupted", { by: "Ada Okafor" });
  const [status, reason] = pick([["finished", "answered"], ["paused", "step_limit"], ["stopped", "by_person"]]);
  log.finish(status, reason);
}
