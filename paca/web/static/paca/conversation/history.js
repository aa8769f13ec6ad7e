// The loaded frames of a conversation, oldest first, and the state they give: the reducer of the store.

import { fold, initialState, reduce, startOf, withOlder } from "./reduce.js";

/**
 * A reducer over {run, frames}. `run` is the state. `frames` keeps each durable frame that was applied,
 * so that an older page can be put before them; it is shared between states and only grows at its end.
 */
export function historyReducer(history, input) {
  if (input.act === "newest") return newest(history, input);
  if (input.act === "older") return older(history, input);
  return advance(history, input.act === "frames" ? input.frames : [input]);
}

export function emptyHistory(known, turn = null) {
  return { run: initialState(known, 0, turn), frames: [], known, turn };
}

function newest({ known, turn, run }, { frames }) {
  // What the person did before the frames came stays.
  const { pending, refused, stopping, pausing, pressedAt, connection } = run;
  const start = { ...startOf(frames, known, known.last_seq, turn), pending, refused, stopping, pausing, pressedAt, connection };
  return { run: fold(start, frames), frames: [...frames], known, turn };
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
  // Frames that were applied now: received just now, or waiting in `ahead` until now.
  const applied = new Map();
  for (const frame of [...before.ahead.values(), ...inputs]) {
    if (frame.seq > before.seq && frame.seq <= run.seq) applied.set(frame.seq, frame);
  }
  frames.push(...[...applied.values()].sort((one, other) => one.seq - other.seq));
  return { ...history, run };
}
