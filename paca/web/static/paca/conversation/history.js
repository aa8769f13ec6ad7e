// The frames a page holds, oldest first, and the state they give: what the store reduces with.

import { fold, initial, reduce, withOlder } from "./reduce.js";

/**
 * A reducer over {run, frames}: `run` is the folded state: it keeps each durable frame it has applied, so that an older
 * page can be put before them. `frames` is shared between states and only ever grows at its end.
 */
export function historyReducer(history, input) {
  if (input.act === "newest") return newest(history, input);
  if (input.act === "older") return older(history, input);
  return advance(history, input.act === "frames" ? input.frames : [input]);
}

export function emptyHistory(known) {
  return { run: initial(known), frames: [], known };
}

function newest({ known, run }, { frames }) {
  const begun = { ...initial(known, (frames[0]?.seq ?? 1) - 1), pending: run.pending, connection: run.connection };
  return { run: fold(begun, frames), frames: [...frames], known };
}

function older(history, { frames }) {
  if (!frames.length || frames.at(-1).seq !== history.run.first - 1) return history;
  const all = [...frames, ...history.frames];
  return { ...history, run: withOlder(history.run, all), frames: all };
}

function advance(history, inputs) {
  const { run: before, frames } = history;
  const run = inputs.length === 1 ? reduce(before, inputs[0]) : fold(before, inputs);
  if (run === before) return history;
  // Applied now: of those just received and those that waited for them, the ones in the new range.
  const applied = new Map();
  for (const frame of [...before.ahead.values(), ...inputs]) {
    if (frame.seq > before.seq && frame.seq <= run.seq) applied.set(frame.seq, frame);
  }
  frames.push(...[...applied.values()].sort((one, other) => one.seq - other.seq));
  return { ...history, run };
}
