import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type Pace, lookAheads } from '../../core/bursts';
import { type JobNotes, checkTime, clockCorrected, newNotes } from './notes';

/** The notes on all jobs. */
export class Board {
  readonly #notes: ReadonlyMap<JobName, JobNotes>;

  /** @param jobs in the order in which they are claimed */
  constructor(jobs: Iterable<JobName>) {
    this.#notes = new Map([...jobs].map((job) => [job, newNotes()]));
  }

  jobs(): readonly JobName[] {
    return [...this.#notes.keys()];
  }

  notes(job: JobName): JobNotes {
    const notes = this.#notes.get(job);
    if (notes === undefined) throw new Error(`no job "${job}" on the board`);
    return notes;
  }

  /** The jobs whose next check is due. */
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
    const own = [...this.#notes.values()].filter(({ next }) => next.kind === 'rest');
    const aheadOf = lookAheads(
      own.flatMap(({ upcoming }) => (upcoming === undefined ? [] : [upcoming.at])),
      pace,
    );
    for (const notes of own) {
      const { upcoming, next } = notes;
      if (upcoming === undefined || next.kind !== 'rest') continue;
      notes.lookAheadMs = aheadOf(upcoming.at);
      if (notes.lookAheadMs <= usualMs) continue;
      const at = upcoming.at - Math.min(notes.lookAheadMs, upcoming.mostAheadMs);
      if (at < next.at) notes.next = { kind: 'rest', at };
    }
  }

  clockCorrected(): void {
    for (const notes of this.#notes.values()) {
      notes.decidedOn = undefined;
      notes.next = clockCorrected(notes.next);
    }
  }

  hubProven(now: EpochMs): void {
    for (const notes of this.#notes.values()) {
      // The hold-back was over before.
      if (notes.next.kind === 'waitsForHub') notes.next = { kind: 'holdBack', until: now };
    }
  }
}
