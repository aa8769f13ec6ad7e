// Times and durations as texts.

const SMALL_DIFFERENCE_MS = 2_000;
let ahead = 0; // milliseconds by which the server's clock is ahead of this computer's

/** The server's time is `iso` now. Later notes refine it, because a frame may be late but never early. */
export function noteServerTime(iso, now = Date.now()) {
  const found = Date.parse(iso ?? "") - now;
  // A small difference is the way of the frame; a running time must not jump because of it.
  if (Math.abs(found - ahead) > SMALL_DIFFERENCE_MS) ahead = found;
}

/** The present time by the server's clock, as a Date: all times in events are by that clock. */
export function serverNow(now = Date.now()) {
  return new Date(now + ahead);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** "0.4 s", "12 s", "4:12", "1:02:03". */
export function duration(seconds) {
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return clock(seconds);
}

/** "0:07", "4:12", "1:02:03": for a running time. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const tail = String(rest).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${tail}` : `${minutes}:${tail}`;
}

export function timeOfDay(iso) {
  return CLOCK.format(new Date(iso));
}

export function fullDate(iso) {
  return FULL.format(new Date(iso));
}

/** "12:43" today, "14 May" before. */
export function whenShort(iso, now = serverNow()) {
  const then = new Date(iso);
  return then.toDateString() === now.toDateString() ? CLOCK.format(then) : DAY.format(then);
}

export function secondsBetween(from, to) {
  return (new Date(to) - new Date(from)) / 1000;
}
