import type { EpochMs, JobName, Millis } from '../../core/brand';
import { claimTime } from '../../core/decide/verdict';
import { nextDue } from '../../core/job';
import { controlOf } from '../../core/control';
import type { CoordinatorEvent } from '../../core/event';
import { rowAfterLoss } from '../../core/failover';
import { ifReadable } from '../../core/metadata';
import { type Row, encodeRow, firstCursor, newRow } from '../../core/row';
import { within } from '../../lease/deadline';
import type { ListedControl, ListedRecord, Listing } from '../../lease/store';
import type { Report, RunnableJob } from '../coordinator';
import { newestRecords } from '../ledger';
import { runnable } from './decide-on';
import { CLAIMS_AT_ONCE, type TickState } from './fire';
import { SWEEP, upcomingAt } from './notes';

const CREATE_LIMIT_MS: Millis = 10_000;
/** How many rows are created side by side: half of the gate, so that claims never wait for all of it. */
const AT_ONCE = CLAIMS_AT_ONCE / 2;
/** After so many rows in a row that exist already, another instance is at work on this part of the list. */
const MET_IN_ROW = 8;
/** After so many other places without a missing row, a listing is cheaper than another try. */
const LEAPS = 3;
/** New jobs are created for so long before jobs that were seen before are checked again. */
const SLICE_MS: Millis = 1_000;
const SLICE_AT_LEAST_MS: Millis = 50;
/** Checks that take long, one after another, leave new jobs at least so much of the time that they took. */
const SHARE = 1 / 3;

interface Absent {
  /** The Date of the first listing that lacked the job. Due times from then on are owed, however late its row comes. */
  readonly since: EpochMs;
  /** What people have asked for already. */
  readonly control: ListedControl | undefined;
  /** The newest records of the job, once they have been read. */
  readonly records?: readonly ListedRecord[];
}

/**
 * The creation of rows for jobs that have none. One for each process; it continues from step to step. Several instances
 * begin at the same time, each at another place of the list. An instance that meets the rows of another one leaps to
 * another place, so that together they create each row about once. Decision 021.
 */
export function createFirstSight({ coordinator, board, gate }: Pick<TickState, 'coordinator' | 'board' | 'gate'>) {
  const { clock, serviceTime, random } = coordinator;
  let absent = new Map<JobName, Absent>();
  /** Those of them that this process has not tried to create, in the order in which it will. */
  let untried: JobName[] = [];
  /** Whether rows of others have been met since the last listing. */
  let met = false;
  let metInRow = 0;
  let leaps = 0;
  /** The end of its last turn, or the beginning, on the monotonic clock. */
  let endedAt: Millis = 0;

  return {
    /** Whether jobs are without a row, as far as this process knows. */
    get going() {
      return untried.length > 0;
    },
    /** Notes the jobs that a whole listing lacks. */
    lacking({ jobs, date }: Listing): void {
      const before = absent;
      absent = new Map();
      for (const name of coordinator.jobs.keys()) {
        const seen = jobs.get(name);
        if (seen?.row !== undefined) continue;
        absent.set(name, { since: before.get(name)?.since ?? date, control: seen?.control });
      }
      if (untried.length === 0) endedAt = clock.monotonic();
      untried = [...absent.keys()];
      if (untried.length > AT_ONCE) leap();
      met = false;
      metInRow = 0;
      leaps = 0;
    },
    /**
     * Creates rows for at most `limitMs`, or a second. If checks have left it little time, it takes its share of it.
     *
     * @returns whether rows of other instances remain to be seen: a listing shows them
     * @throws StoreError
     */
    async createSome(limitMs: Millis, report: Report): Promise<boolean> {
      const begun = clock.monotonic();
      const atLeastMs = Math.max(SLICE_AT_LEAST_MS, (begun - endedAt) * SHARE);
      const end = begun + Math.min(SLICE_MS, Math.max(atLeastMs, limitMs));
      let failed = false;
      const createInTurn = async (): Promise<void> => {
        while (!failed && !coordinator.stopping && leaps <= LEAPS && clock.monotonic() < end) {
          const name = untried.pop();
          if (name === undefined) return;
          try {
            await gate(() => create(name, end, report));
          } catch (error) {
            failed = true;
            untried.push(name);
            throw error;
          }
        }
      };
      const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, createInTurn));
      endedAt = clock.monotonic();
      for (const one of ends) if (one.status === 'rejected') throw one.reason;
      if (leaps > LEAPS) untried = [];
      return met && untried.length === 0;
    },
  };

  async function create(name: JobName, end: Millis, report: Report): Promise<void> {
    const job = runnable(coordinator, name);
    const seen = absent.get(name) ?? { since: serviceTime.now(), control: undefined };
    const records = seen.records ?? (await newestRecords(coordinator.store, name, limited));
    if (clock.monotonic() >= end && untried.length > 0) {
      // Two calls each may be longer than a tick can wait for. The last rows are not put off.
      absent.set(name, { ...seen, records });
      untried.push(name);
      return;
    }
    const fresh = newRow(firstCursor(job.spec, seen.since), coordinator.revision, job.spec.scheduleHash);
    const lost = records.length === 0 ? undefined : lostRow(job, fresh, { ...seen, records }, serviceTime.now());
    const row = lost ?? fresh;
    const metadata = encodeRow(row);
    const answer = await limited((signal) => coordinator.store.createRow(name, metadata, { signal }));
    absent.delete(name);
    if (answer === 'exists') {
      met = true;
      metInRow += 1;
      if (metInRow >= MET_IN_ROW) leap();
      return;
    }
    metInRow = 0;
    leaps = 0;
    if (lost !== undefined) report.event(lossOf(name, lost, serviceTime.now()));
    const due = job.spec.enabled ? nextDue(job.spec, row.cursor, serviceTime.now()) : undefined;
    const isChecked = seen.control !== undefined || lost !== undefined || job.spec.kind === 'always';
    const claimAt = due === undefined ? undefined : claimTime(job.spec, due, coordinator.settings.lookAheadMs);
    // Otherwise the row is known until its due time, as this process has written it.
    const at = isChecked ? serviceTime.now() : claimAt;
    board.note(name, 'rowCreated', {
      next: at === undefined ? SWEEP : { kind: 'rest', at },
      upcoming: upcomingAt(job.spec, due),
    });
  }

  function limited<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return within(clock, CREATE_LIMIT_MS, call);
  }

  function leap(): void {
    const at = Math.floor(random() * untried.length);
    untried = [...untried.slice(at), ...untried.slice(0, at)];
    metInRow = 0;
    leaps += 1;
  }
}

/** The row of a job that has records: its row was deleted, and the ledger was not. */
function lostRow({ spec }: RunnableJob, fresh: Row, { control: listed, records }: Required<Absent>, now: EpochMs): Row {
  // A control that is not ours keeps its job from being claimed, so that nothing of it counts.
  const control = ifReadable(() => controlOf(listed)) ?? controlOf(undefined);
  return rowAfterLoss({ job: spec, fresh, records, control, now });
}

function lossOf(job: JobName, { token }: Row, at: EpochMs): CoordinatorEvent {
  const reason =
    `the row of job "${job}" was deleted, and its records were not: it is created again with token ${String(token)}, ` +
    'above every earlier one; what was in progress or waited does not run: check the last runs with ' +
    `"cronlease runs ${job}"`;
  return { event: 'warning', at, job, token, reason };
}
