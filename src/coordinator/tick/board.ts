import type { EpochMs, JobName } from '../../core/brand';
import type { JobNotes } from './notes';
import { clockCorrected, lookTime, newNotes } from './notes';

/** The notes on all jobs. */
export class Board {
  readonly #notes: ReadonlyMap<JobName, JobNotes>;

  constructor(jobs: Iterable<JobName>) {
    this.#notes = new Map([...jobs].map((job) => [job, newNotes()]));
  }

  notes(job: JobName): JobNotes {
    const notes = this.#notes.get(job);
    if (notes === undefined) throw new Error(`no job "${job}" on the board`);
    return notes;
  }

  /** The jobs whose next look is due. */
  due(now: EpochMs): JobName[] {
    return [...this.#notes].flatMap(([job, { next }]) => ((lookTime(next) ?? Infinity) <= now ? [job] : []));
  }

  nextLook(): EpochMs {
    let earliest = Infinity;
    for (const { next } of this.#notes.values()) earliest = Math.min(earliest, lookTime(next) ?? Infinity);
    return earliest;
  }

  get anyInFlight(): boolean {
    for (const { inFlight } of this.#notes.values()) if (inFlight) return true;
    return false;
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
