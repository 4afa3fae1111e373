import type { EpochMs, JobName, Millis } from '../../core/brand';
import type { Control } from '../../core/control';
import { decodeControl, NO_CONTROL } from '../../core/control';
import type { JobSpec } from '../../core/job';
import { ForeignMetadataError } from '../../core/metadata';
import { countsFrom, overdueBy } from '../../core/overdue';
import type { Row } from '../../core/row';
import { decodeRow } from '../../core/row';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { Listing } from '../../lease/store';
import { StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { createGate } from '../gate';
import { lastSuccess } from '../ledger';

/** Sweeps do not come to the millisecond. */
const SWEEP_SHARE = 0.9;
/** Beside the claims, which are more urgent. */
const LOOKS_AT_ONCE = 4;
/** How far a process looks back in the ledger when it first meets a job; from then on it looks at one page. */
const PAGES_AT_FIRST = 4;

/** What this process knows of one job with `alertAfter`. */
interface Known {
  /** When it last succeeded, or was excused from it, or was first seen. */
  readonly from: EpochMs;
  /** The row as it was when the ledger was last asked: while it stays so, nothing new has ended. */
  readonly version: string;
}

interface Seen {
  readonly spec: JobSpec;
  readonly row: Row;
  readonly control: Control;
  readonly version: string;
  /** Its lease is. */
  readonly isHeld: boolean;
}

export interface OverdueWatch {
  /**
   * Says which jobs are overdue, once each sweep interval.
   *
   * @returns what goes on, where the ledger had to be asked. Never rejects
   */
  check(listing: Listing, report: Report): Promise<void> | undefined;
  /** The row that a claim is to write, with what is known of the last success. */
  told(job: JobName, row: Row): Row;
}

/**
 * Watches the jobs that have `alertAfter`. Rows are told of successes only by writes that are made anyway, so that a
 * row may be behind. Where it says that its job may be overdue, the ledger has the last word: one page of summaries a
 * job, and no more than one while its row stays as it is.
 */
export function overdueWatch(coordinator: Coordinator): OverdueWatch {
  const { clock, settings, serviceTime, revision } = coordinator;
  const alerted = [...coordinator.jobs.values()].filter(({ spec }) => spec.alertAfterMs !== undefined);
  const known = new Map<JobName, Known>();
  /** So that rows are not read again while they stay as they are. */
  const read = new Map<JobName, Seen>();
  const gate = createGate(LOOKS_AT_ONCE);
  let checkedAt: Millis | undefined;

  return {
    check(listing, report) {
      const now = clock.monotonic();
      const isEarly = checkedAt !== undefined && now - checkedAt < settings.sweepIntervalMs * SWEEP_SHARE;
      if (alerted.length === 0 || isEarly) return undefined;
      checkedAt = now;
      const unsure = alerted.flatMap(({ spec }) => {
        const seen = seenIn(listing, spec);
        return seen !== undefined && mayBeOverdue(seen) ? [seen] : [];
      });
      // A lease that is held may be another one than before: a run may have ended in between, and the row not show it.
      const looks = unsure.flatMap((seen) =>
        !seen.isHeld && tell(seen, report) ? [] : [gate(() => look(seen, report))],
      );
      return looks.length === 0 ? undefined : Promise.all(looks).then(() => undefined);
    },
    told(job, row) {
      const from = known.get(job)?.from;
      return from === undefined || from <= (row.lastGoodAt ?? 0) ? row : { ...row, lastGoodAt: from };
    },
  };

  /** Undefined: not ours, forgotten, or given to a newer file; whoever has that one tells. */
  function seenIn({ jobs }: Listing, spec: JobSpec): Seen | undefined {
    const { row: listed, control } = jobs.get(spec.name) ?? {};
    if (listed === undefined) return undefined;
    const version = `${listed.etag} ${listed.lease} ${control?.etag ?? ''}`;
    const before = read.get(spec.name);
    if (before?.version === version) return before;
    try {
      const row = decodeRow(listed.metadata);
      if (row.forgotten !== undefined || (row.revision > revision && row.scheduleHash !== spec.scheduleHash)) return;
      const wanted = control === undefined ? NO_CONTROL : decodeControl(control.metadata);
      const seen = { spec, row, control: wanted, version, isHeld: listed.lease === 'leased' };
      read.set(spec.name, seen);
      return seen;
    } catch (error) {
      // The tick has said so.
      if (error instanceof ForeignMetadataError) return undefined;
      throw error;
    }
  }

  function mayBeOverdue({ spec, row, control }: Seen): boolean {
    const from = Math.max(row.lastGoodAt ?? 0, known.get(spec.name)?.from ?? 0);
    return overdueBy(spec, control, from, serviceTime.now()) !== undefined;
  }

  /** Returns whether what is known is enough to tell. */
  function tell({ spec, control, version }: Seen, report: Report): boolean {
    const current = known.get(spec.name);
    if (current?.version !== version) return false;
    const at = serviceTime.now();
    const ageMs = overdueBy(spec, control, current.from, at);
    if (ageMs !== undefined) report.event({ event: 'overdue', at, job: spec.name, ageMs });
    return true;
  }

  async function look(seen: Seen, report: Report): Promise<void> {
    if (coordinator.stopping) return;
    const { spec, row, version } = seen;
    const before = known.get(spec.name);
    const since = Math.max(row.lastGoodAt ?? 0, before?.from ?? 0);
    try {
      const request = { pages: before === undefined ? PAGES_AT_FIRST : 1, since };
      const found = await lastSuccess(coordinator.store, spec.name, request, (call) =>
        within(clock, CALL_LIMIT_MS, call),
      );
      known.set(spec.name, { from: countsFrom(row, found, before?.from), version });
      tell(seen, report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.log('warn', `job "${spec.name}": whether it is overdue could not be seen:`, error);
    }
  }
}
