import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../core/brand';
import type { LastBeat } from '../../core/fan-out';

/** What this process remembers of one job between looks, so that an idle tick need not ask. */
export interface JobNotes {
  /** Nothing is to be done before this instant, unless the row changes. Undefined: until a sweep shows otherwise. */
  lookAt: EpochMs | undefined;
  /** Something goes on that may need somebody: each tick looks at it. */
  inFlight: boolean;
  /** A claim or a record is being written by this process. */
  busy: boolean;
  /** A claim was due while the task hub was in doubt: once it is proven the job is looked at again. */
  waitsForHub: boolean;
  /** Not before this instant does this deployment claim what its incumbent should. */
  holdUntil: EpochMs | undefined;
  /** How long to wait before looking at a held row again; grows. */
  watchDelayMs: Millis;
  /** Row and control as they were when last decided upon. */
  seen: string | undefined;
  /** The row's version, and the Date of the first listing that showed it. */
  firstSeen: { readonly etag: ETag; readonly at: EpochMs } | undefined;
  /** The row's version whose run is known to have a final record, and when that run ended. */
  settled: { readonly etag: ETag; readonly endedAt: EpochMs } | undefined;
  /** The row's version that is left to items, and when these were heard of last; `none`: nobody beats for them. */
  beat: { readonly etag: ETag; readonly last: LastBeat | 'none' } | undefined;
  /** The row's version whose silent items have made this deployment look at its own task hub. */
  silence: ETag | undefined;
  /** When this process first saw the lease broken, on the monotonic clock, and that row's version. */
  broken: { readonly etag: ETag; readonly since: Millis } | undefined;
  /**
   * An acquisition that got no answer: it may take effect late, and then nobody else would know the id of that lease.
   * The row's version and lease before it.
   */
  unanswered: { readonly etag: ETag; readonly lease: 'available' | 'expired'; readonly leaseId: LeaseId } | undefined;
  /** The fire in which this process last went for a term of a leader job. */
  termOfFire: number | undefined;
  /** The last warning about this job, so that it is said once. */
  warned: string | undefined;
}

/** The notes on all jobs. */
export class Board {
  readonly #notes = new Map<JobName, JobNotes>();

  constructor(jobs: Iterable<JobName>) {
    for (const job of jobs) {
      this.#notes.set(job, {
        lookAt: undefined,
        inFlight: false,
        busy: false,
        waitsForHub: false,
        holdUntil: undefined,
        watchDelayMs: 0,
        seen: undefined,
        firstSeen: undefined,
        settled: undefined,
        beat: undefined,
        silence: undefined,
        broken: undefined,
        unanswered: undefined,
        termOfFire: undefined,
        warned: undefined,
      });
    }
  }

  notes(job: JobName): JobNotes {
    const notes = this.#notes.get(job);
    if (notes === undefined) throw new Error(`no job "${job}" on the board`);
    return notes;
  }

  /** The jobs that want to be looked at by now. */
  due(now: EpochMs): JobName[] {
    const due: JobName[] = [];
    for (const [job, notes] of this.#notes) {
      if (!notes.busy && notes.lookAt !== undefined && notes.lookAt <= now) due.push(job);
    }
    return due;
  }

  /** The time was corrected: what was noted by the old one would come too early, or much too late. */
  lookAgain(): void {
    for (const notes of this.#notes.values()) {
      notes.seen = undefined;
      notes.holdUntil = undefined;
      if (notes.lookAt !== undefined) notes.lookAt = 0;
    }
  }

  /** The task hub is proven: what waited for that is looked at again. */
  hubProven(now: EpochMs): void {
    for (const notes of this.#notes.values()) {
      if (!notes.waitsForHub) continue;
      notes.waitsForHub = false;
      notes.lookAt = now;
    }
  }

  /** When the next job wants to be looked at. */
  nextLook(): EpochMs {
    let next = Infinity;
    for (const notes of this.#notes.values()) {
      if (!notes.busy && notes.lookAt !== undefined && notes.lookAt < next) next = notes.lookAt;
    }
    return next;
  }

  get anyInFlight(): boolean {
    for (const notes of this.#notes.values()) if (notes.inFlight) return true;
    return false;
  }
}
