import { type Scale, positionOf } from './place';
import { dayOf, offsetAt, shortTime } from './time';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((count) => count * HOUR),
];

interface Tick {
  readonly at: number;
  readonly x: number;
  readonly label: string;
}

/** Round times of the zone, as many as their labels leave room for. */
export function ticksOf(scale: Scale, zone: string, labelWidth: number): readonly Tick[] {
  const room = Math.max(1, Math.floor(scale.width / labelWidth));
  const span = scale.until - scale.from;
  const step = STEPS.find((one) => span / one <= room) ?? 24 * 28 * HOUR;
  const ticks: Tick[] = [];
  let last: number | undefined;
  const offsetOf = (at: number): number => offsetAt(at, zone) * MINUTE;
  // Where the clocks change, the time that follows by the step is not a round one.
  const round = (at: number): number => Math.round((at + offsetOf(at)) / step) * step - offsetOf(at);
  const offset = offsetOf(scale.from);
  for (let at = Math.ceil((scale.from + offset) / step) * step - offset; at <= scale.until; at = round(at + step)) {
    // Only the first label of a day has the day.
    const label = shortTime(at, zone, last === undefined || dayOf(last, zone) === dayOf(at, zone) ? at : last);
    ticks.push({ at, x: positionOf(scale, at), label });
    last = at;
  }
  return ticks;
}
