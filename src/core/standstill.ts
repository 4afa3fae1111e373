import type { EpochMs, Millis } from './brand';
import { type LastBeat, silentFrom } from './fan-out';
import type { Row } from './row';

/** How many standstills of one run a row remembers. */
export const STANDSTILLS = 3;

/** A waiting run's own orchestration has this long to resume it; then a tick does. */
export const RESUME_AFTER_MS: Millis = 10_000;

/** The longest that a holder may be at work, and its lease. */
export interface HolderLimits {
  readonly attemptLimitMs: Millis;
  readonly leaseMs: Millis;
}

/**
 * The instant from which no instance can have been at work on a row's run that is not over: its holder's lease had
 * ended, or its next attempt was overdue. Storage shows neither a renewal nor a death, so the holder counts as alive
 * for as long as an attempt lasts. Undefined: it is settled. Decision 009.
 *
 * @param beat the last beat of its items, if it was read
 */
export function standsFrom(row: Row, limits: HolderLimits, beat?: LastBeat): EpochMs | undefined {
  const { run, phase, notBefore = 0, itemsLeftAt, past } = row;
  if (run === undefined) return undefined;
  const leaseMs = Math.max(limits.leaseMs, row.leaseMs ?? 0);
  const attemptEnds = Math.max(run.since, row.claimedAt ?? 0, row.started ?? 0) + limits.attemptLimitMs;
  switch (phase) {
    case 'idle':
    case 'settled':
      return undefined;
    case 'running':
      return attemptEnds + leaseMs;
    case 'retrying': {
      const last = past.at(-1);
      const ended = last?.attempt === row.attempt ? last.end : undefined;
      return (notBefore === 0 ? (ended ?? attemptEnds) : notBefore) + RESUME_AFTER_MS + leaseMs;
    }
    case 'fanning': {
      const left = itemsLeftAt === undefined ? Infinity : itemsLeftAt + RESUME_AFTER_MS;
      const silent = beat === undefined ? Infinity : silentFrom(beat);
      return Math.min(notBefore + leaseMs, left + leaseMs, silent);
    }
  }
}

/** The row with the time until `now` for which its run stood still, if it did. Of more than a few, the last ones stay. */
export function withStandstill(row: Row, from: EpochMs | undefined, now: EpochMs): Row {
  if (from === undefined || from >= now) return row;
  return { ...row, stood: [...row.stood, { from, until: now }].slice(-STANDSTILLS) };
}

/** The standstill of the row's run in which an instant lies. */
export function standstillAt({ stood }: Pick<Row, 'stood'>, instant: EpochMs): Row['stood'][number] | undefined {
  return stood.find(({ from, until }) => from <= instant && instant < until);
}
