import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type JobNotes, NEW_NOTES, type NoteEvents, after, checkTime } from './notes';

export class Board {
  readonly #notes: Map<JobName, JobNotes>;

  /** @param jobs in the order in which they are claimed */
  constructor(jobs: Iterable<JobName>) {
    this.#notes = new Map([...jobs].map((job) => [job, NEW_NOTES]));
  }

  jobs(): readonly JobName[] {
    return [...this.#notes.keys()];
  }

  notes(job: JobName): JobNotes {
    const notes = this.#notes.get(job);
    if (notes === undefined) throw new Error(`no job "${job}" on the board`);
    return notes;
  }

  note<Kind extends keyof NoteEvents>(job: JobName, kind: Kind, event: NoteEvents[Kind]): void {
    this.#notes.set(job, after(this.notes(job), kind, event));
  }

  due(now: EpochMs): JobName[] {
    const due: JobName[] = [];
    // After each claim of a burst, so nothing is allocated for a job that is not due.
    for (const [job, { next }] of this.#notes) if ((checkTime(next) ?? Infinity) <= now) due.push(job);
    return due;
  }

  nextCheckAt(): EpochMs {
    let earliest = Infinity;
    for (const { next } of this.#notes.values()) earliest = Math.min(earliest, checkTime(next) ?? Infinity);
    return earliest;
  }

  get anyInFlight(): boolean {
    for (const { inFlight } of this.#notes.values()) if (inFlight) return true;
    return false;
  }

  /**
   * Gives each due time that this process expects to claim a look-ahead, and checks it earlier where that is longer than the
   * usual one. Where another deployment is the incumbent, its own look-ahead grows, and this process comes after it.
   */
  planBursts(pace: Pace, usualMs: Millis): void {
    const own = [...this.#notes].flatMap(([job, { next, upcoming, lookAheadMs }]) =>
      next.kind === 'rest' && upcoming !== undefined ? [{ job, next, upcoming, before: lookAheadMs }] : [],
    );
    const times = own.map(({ upcoming }) => upcoming.at);
    const aheadOf = lookAheads(times, pace);
    for (const { job, next, upcoming, before } of own) {
      const lookAheadMs = aheadOf(upcoming.at);
      const planned = lookAheadMs <= usualMs ? Infinity : upcoming.at - Math.min(lookAheadMs, upcoming.mostAheadMs);
      if (lookAheadMs === before && planned >= next.at) continue;
      this.note(job, 'aheadPlanned', { lookAheadMs, checkAt: Math.min(next.at, planned) });
    }
  }

  noteAll<Kind extends keyof NoteEvents>(kind: Kind, event: NoteEvents[Kind]): void {
    for (const job of this.#notes.keys()) this.note(job, kind, event);
  }
}

/** How early the claims of a burst may begin, and how fast they come. */
interface Pace {
  /** The look-ahead where little is due. */
  readonly lookAheadMs: Millis;
  /** No look-ahead is longer, because a lease must last past the start of the run. */
  readonly mostMs: Millis;
  /** How many claims this process makes every second. */
  readonly perSecond: number;
}

const BUCKET_MS = 1_000;
/** The share of the usual look-ahead that is left when the last claim of a burst is made. */
const SPARE_SHARE = 0.5;

/**
 * The look-ahead of each due time, so that the claims of all that is due by then can be made in time. It grows with the
 * number of due times, and stays as it is where few are due. Decision 018.
 *
 * @param due the actual due times that this process expects to claim
 * @returns the look-ahead of a due time
 */
export function lookAheads(due: Iterable<EpochMs>, { lookAheadMs, mostMs, perSecond }: Pace): (at: EpochMs) => Millis {
  const counts = new Map<number, number>();
  for (const at of due) {
    const bucket = Math.floor(at / BUCKET_MS);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const starts = new Map<number, Millis>();
  let startOfNext = Infinity;
  for (const [bucket, count] of [...counts].sort(([a], [b]) => b - a)) {
    const at = bucket * BUCKET_MS;
    // All claims of this second are made before those of the next one must begin.
    const start = Math.min(at, startOfNext) - (count / perSecond) * 1000;
    const ahead = lookAheadMs * SPARE_SHARE + at - start;
    starts.set(bucket, Math.max(lookAheadMs, Math.min(mostMs, ahead)));
    startOfNext = start;
  }
  return (at) => starts.get(Math.floor(at / BUCKET_MS)) ?? lookAheadMs;
}
