import type { EpochMs } from './brand';
import { zoneOf } from './schedule/zone';

/** The zone of this machine; UTC where its setting, such as `TZ=:/etc/localtime`, names none that is known. */
export function machineZone(): string {
  // Undefined, or "Etc/Unknown", which no zone can be made of.
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone as string | undefined;
  try {
    return name === undefined ? 'UTC' : zoneOf(name).name;
  } catch {
    return 'UTC';
  }
}

export function isUtc(timeZone: string): boolean {
  return /^(?:etc\/)?utc$/i.test(timeZone);
}

/** An instant in a zone, in a form that commands accept: `2026-01-31T03:00:00Z`, or `2026-01-31T04:00:00+01:00`. */
export function showTime(instant: EpochMs, timeZone: string): string {
  const { wall, offset } = inZone(instant, timeZone);
  return wall.replace('.000', '') + offset;
}

/** Only the time of day: `03:00:00Z`, or `04:00:00+01:00`. */
export function showTimeOfDay(instant: EpochMs, timeZone: string): string {
  const { wall, offset } = inZone(instant, timeZone);
  return wall.slice(11, 19) + offset;
}

/** The day on the zone's clocks: `2026-01-31`. */
export function showDay(instant: EpochMs, timeZone: string): string {
  return inZone(instant, timeZone).wall.slice(0, 10);
}

function inZone(instant: EpochMs, timeZone: string): { readonly wall: string; readonly offset: string } {
  if (isUtc(timeZone)) return { wall: new Date(instant).toISOString().replace('Z', ''), offset: 'Z' };
  const ahead = zoneOf(timeZone).segmentAt(Math.floor(instant / 1000)).offset;
  const minutes = Math.round(Math.abs(ahead) / 60);
  const two = (part: number): string => String(part).padStart(2, '0');
  return {
    wall: new Date(instant + ahead * 1000).toISOString().replace('Z', ''),
    offset: `${ahead < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`,
  };
}

/** A span for people: `40 ms`, `0.4 s`, `22.1 s`, `3 min 20 s`, `2 h 5 min`. */
export function showSpan(ms: number): string {
  if (ms >= 0 && ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1).replace('.0', '')} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** A span for a narrow column: `40ms`, `22.1s`, `3m20s`, `2h5m`. */
export function shortSpan(ms: number): string {
  return showSpan(ms).replaceAll(' ', '').replace('min', 'm');
}

/** How long ago something was, or how far ahead it is, in one unit: `45s`, `12m`, `5h`, `3d`. */
export function showAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
