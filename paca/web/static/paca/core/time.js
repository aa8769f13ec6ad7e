// Times and durations as texts.

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
export function whenShort(iso, now = new Date()) {
  const then = new Date(iso);
  return then.toDateString() === now.toDateString() ? CLOCK.format(then) : DAY.format(then);
}

export function secondsBetween(from, to) {
  return (new Date(to) - new Date(from)) / 1000;
}
