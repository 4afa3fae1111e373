import type { JobSpec } from '../../src/core/job';
import type { ClusterEvent } from '../../src/local/cluster/deployment';
import type { Note } from './app/note';
import type { Answered } from './calls';
import type { Told } from './receiver';

export interface Span {
  readonly from: number;
  readonly until: number;
}

/** What was done to an instance, and when, by the machine's wall clock. */
export interface Fault extends Span {
  /**
   * `killed`: SIGKILL. `drained`: SIGTERM. `stopped`: SIGSTOP until SIGCONT, or its event loop blocked. `cutOff`: it
   * could not reach storage. `slowed`: it could, badly. `outage`: no one could.
   */
  readonly kind: 'killed' | 'drained' | 'stopped' | 'cutOff' | 'slowed' | 'outage';
  readonly deployment: string;
  readonly pid: number;
  /** The jobs on whose runs its task hub was at work, without a lease. */
  readonly works?: readonly string[];
}

/** One ledger record, as a listing of the container shows it. */
export interface LedgerLine {
  readonly job: string;
  /** The id of its request or back-fill; undefined: it is of a due time of the schedule. */
  readonly request?: string | undefined;
  readonly scheduledFor: number;
  readonly through: number;
  readonly state: string;
  readonly outcome: string;
}

/** A back-fill that the scenario has started. */
export interface BackfillSpan extends Span {
  readonly job: string;
  readonly id: string;
}

/** All that a scenario has left behind. Instants are of the machine's wall clock. */
export interface Evidence {
  readonly jobs: readonly JobSpec[];
  /** Due times in this span are judged. */
  readonly span: Span;
  readonly notes: readonly Note[];
  readonly events: readonly ClusterEvent[];
  readonly ledger: readonly LedgerLine[];
  readonly traffic: readonly Answered[];
  readonly faults: readonly Fault[];
  /** What has come to the receiver of notices, if there is one. */
  readonly told?: readonly Told[] | undefined;
  readonly backfill?: BackfillSpan | undefined;
  /** The emulator may have lost writes that it had confirmed in this span, which Azure never does. */
  readonly forgotten?: Span | undefined;
}

/** The due times in a span, of all jobs. */
export function dueTimes(jobs: readonly JobSpec[], { from, until }: Span): { job: string; due: number }[] {
  return jobs.flatMap(({ name, timetable }) => {
    const found: { job: string; due: number }[] = [];
    for (let due = timetable.next(from); due !== undefined && due <= until; due = timetable.next(due)) {
      found.push({ job: name, due });
    }
    return found;
  });
}

export function outcomesOf(ledger: readonly LedgerLine[], job: string, due: number): LedgerLine[] {
  return ledger.filter(
    (line) =>
      line.job === job &&
      line.request === undefined &&
      line.state === 'final' &&
      line.scheduledFor <= due &&
      due <= line.through,
  );
}

export function say(job: string, instant: number): string {
  return `${job} ${new Date(instant).toISOString().slice(11, 19)}`;
}
