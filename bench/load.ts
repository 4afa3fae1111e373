/** How many jobs are due, and how often. */
export type Load =
  | { readonly kind: 'rate'; readonly perSecond: number }
  /** So many jobs are due in the same minute, once. */
  | { readonly kind: 'burst'; readonly jobs: number };

export type Schedule =
  { readonly kind: 'second' } | { readonly kind: 'minute' } | { readonly kind: 'once'; readonly at: number };

export interface BenchJob {
  readonly name: string;
  readonly schedule: Schedule;
  /** How long its handler takes. */
  readonly handlerMs: number;
  /** How many lines it writes to its log in that time. */
  readonly lines?: number;
}

/** How long a handler takes that does nothing but note its start. */
const HANDLER_MS = 20;
const MINUTE_MS = 60_000;
/** What is due in a burst is known at least so long before. */
export const LEAD_MS = 30_000;
const STARTED_WITHIN_MS = 10_000;
/** What the first sight of a job usually takes at most, of thousands. */
const FIRST_SIGHT_MS = 4;

/** @returns undefined if the text is not a load */
export function parseLoad(text: string): Load | undefined {
  const [, count = '', unit] = /^([1-9]\d{0,4})\/(s|min)$/.exec(text) ?? [];
  if (unit === undefined) return undefined;
  return unit === 's' ? { kind: 'rate', perSecond: Number(count) } : { kind: 'burst', jobs: Number(count) };
}

export function loadName(load: Load): string {
  return load.kind === 'rate' ? `${String(load.perSecond)}/s` : `${String(load.jobs)}/min`;
}

/**
 * @param startsAt when the system that is to run them starts
 * @param spareMs how much longer its start may take than it usually does
 */
export function jobsOf(load: Load, startsAt: number, spareMs = 0): BenchJob[] {
  const count = load.kind === 'rate' ? load.perSecond : load.jobs;
  const schedule: Schedule =
    load.kind === 'rate' ? { kind: 'second' } : { kind: 'once', at: burstAt(load, startsAt + spareMs) };
  return Array.from({ length: count }, (_, index) => ({
    name: `job-${String(index + 1).padStart(5, '0')}`,
    schedule,
    handlerMs: HANDLER_MS,
  }));
}

/** The first full minute before which all jobs can be known long enough. */
function burstAt({ jobs }: Extract<Load, { kind: 'burst' }>, startsAt: number): number {
  return Math.ceil((startsAt + LEAD_MS + STARTED_WITHIN_MS + jobs * FIRST_SIGHT_MS) / MINUTE_MS) * MINUTE_MS;
}

/** A cron expression with seconds, in UTC. */
export function cronOf(schedule: Schedule): string {
  if (schedule.kind === 'second') return '* * * * * *';
  if (schedule.kind === 'minute') return '0 * * * * *';
  const at = new Date(schedule.at);
  const fields = [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1];
  return `${fields.join(' ')} *`;
}

/** The first due time after an instant; undefined: none. */
export function nextDue(schedule: Schedule, after: number): number | undefined {
  if (schedule.kind === 'once') return schedule.at > after ? schedule.at : undefined;
  const period = schedule.kind === 'second' ? 1_000 : MINUTE_MS;
  return (Math.floor(after / period) + 1) * period;
}
