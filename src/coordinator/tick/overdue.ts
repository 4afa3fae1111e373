import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type Control, controlOf } from '../../core/control';
import type { JobSpec } from '../../core/job';
import type { Punctuality } from '../../core/notice-sweep';
import { ifReadable } from '../../core/metadata';
import { countsFrom, overdueBy } from '../../core/overdue';
import { type Row, decodeRow } from '../../core/row';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { type Listing, StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { createGate } from '../concurrency-limit';
import { lastSuccess } from '../ledger';

/** Any listing of all jobs delays the next sweep, so one that comes a little early must not be left out. */
const SWEEP_SHARE = 0.75;
/** Few at a time, because claims are more urgent. */
const READS_AT_ONCE = 4;
/** What a listing of before this has shown may be over: its process has stood still since. */
const OLD_MS: Millis = 60_000;
/** How many pages of the ledger a process reads when it first sees a job. Later it reads one. */
const PAGES_AT_FIRST = 4;

/** The knowledge of this process about one job with `alertAfter`. */
interface Known {
  /** When the job last succeeded, or was excused, or was first seen. */
  readonly from: EpochMs;
  /** The row at the last read of the ledger. While the row is the same, no further run has ended. */
  readonly version: string;
}

interface Seen {
  readonly spec: JobSpec;
  readonly row: Row;
  readonly control: Control;
  readonly version: string;
  /** Whether its lease is held. */
  readonly isHeld: boolean;
}

export interface OverdueWatch {
  /**
   * Reports overdue jobs, once each sweep interval.
   *
   * @returns the work in progress, if the ledger must be read; never rejects
   */
  check(listing: Listing, report: Report): Promise<void> | undefined;
  /** Whether a job is overdue, as of the last check. A job without `alertAfter` never is. */
  punctuality(job: JobName): Punctuality;
  /** Adds the last success that this process has seen to the row of a claim. */
  told(job: JobName, row: Row): Row;
}

/**
 * Watches the jobs that have `alertAfter`. A row gets a success only with writes that are made anyway, so it may be
 * behind. If by its row a job may be overdue, the ledger decides: that takes one page of summaries, once for each
 * version of the row.
 */
export function overdueWatch(coordinator: Coordinator): OverdueWatch {
  const { clock, settings, serviceTime, revision } = coordinator;
  const alerted = [...coordinator.jobs.values()].filter(({ spec }) => spec.alertAfterMs !== undefined);
  const known = new Map<JobName, Known>();
  /** Saves decoding rows that have not changed. */
  const read = new Map<JobName, Seen>();
  const gate = createGate(READS_AT_ONCE);
  const verdicts = new Map<JobName, Punctuality>();
  let checkedAt: Millis | undefined;

  return {
    check(listing, report) {
      const now = clock.monotonic();
      const isEarly = checkedAt !== undefined && now - checkedAt < settings.sweepIntervalMs * SWEEP_SHARE;
      if (alerted.length === 0 || isEarly) return undefined;
      checkedAt = now;
      const unsure = alerted.flatMap(({ spec }) => {
        const seen = seenIn(listing, spec);
        const isUnsure = seen !== undefined && mayBeOverdue(seen);
        verdicts.set(spec.name, seen === undefined || isUnsure ? 'unknown' : 'punctual');
        return isUnsure ? [seen] : [];
      });
      // A held lease may be a new one: a run may have ended in between without a change of the row.
      const { date } = listing;
      const readings = unsure.flatMap((seen) =>
        !seen.isHeld && tell(seen, date, report) ? [] : [gate(() => readLedger(seen, date, report))],
      );
      return readings.length === 0 ? undefined : Promise.all(readings).then(() => undefined);
    },
    punctuality: (job) => {
      const { alertAfterMs } = coordinator.jobs.get(job)?.spec ?? {};
      return alertAfterMs === undefined ? 'punctual' : (verdicts.get(job) ?? 'unknown');
    },
    told(job, row) {
      const from = known.get(job)?.from;
      return from === undefined || from <= row.lastGoodAt ? row : { ...row, lastGoodAt: from };
    },
  };

  /** Undefined if the row is not ours, is forgotten, or follows a newer file, whose deployments report on it. */
  function seenIn({ jobs }: Listing, spec: JobSpec): Seen | undefined {
    const { row: listed, control } = jobs.get(spec.name) ?? {};
    if (listed === undefined) return undefined;
    const version = `${listed.etag} ${listed.lease} ${control?.etag ?? ''}`;
    const before = read.get(spec.name);
    if (before?.version === version) return before;
    // The tick has reported what cannot be read.
    return ifReadable(() => {
      const row = decodeRow(listed.metadata);
      if (row.forgotten !== undefined || (row.revision > revision && row.scheduleHash !== spec.scheduleHash)) return;
      const wanted = controlOf(control);
      const seen = { spec, row, control: wanted, version, isHeld: listed.lease === 'leased' };
      read.set(spec.name, seen);
      return seen;
    });
  }

  function mayBeOverdue({ spec, row, control }: Seen): boolean {
    const from = Math.max(row.lastGoodAt, known.get(spec.name)?.from ?? 0);
    return overdueBy(spec, control, from, serviceTime.now()) !== undefined;
  }

  /** Returns whether the known facts decide. */
  function tell({ spec, control, version }: Seen, listedAt: EpochMs, report: Report): boolean {
    const current = known.get(spec.name);
    if (current?.version !== version) return false;
    const at = serviceTime.now();
    if (at - listedAt > OLD_MS) return true;
    const ageMs = overdueBy(spec, control, current.from, at);
    verdicts.set(spec.name, ageMs === undefined ? 'punctual' : { since: at - ageMs, ageMs });
    if (ageMs !== undefined) report.event({ event: 'overdue', at, job: spec.name, ageMs });
    return true;
  }

  async function readLedger(seen: Seen, listedAt: EpochMs, report: Report): Promise<void> {
    if (coordinator.stopping) return;
    const { spec, row, version } = seen;
    const before = known.get(spec.name);
    const since = Math.max(row.lastGoodAt, before?.from ?? 0);
    try {
      const request = { pages: before === undefined ? PAGES_AT_FIRST : 1, since };
      const found = await lastSuccess(coordinator.store, spec.name, request, (call) =>
        within(clock, CALL_LIMIT_MS, call),
      );
      known.set(spec.name, { from: countsFrom(row, found, before?.from), version });
      tell(seen, listedAt, report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.log('warn', `job "${spec.name}": the check for an overdue job failed:`, error);
    }
  }
}
