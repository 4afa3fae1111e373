import type { Calendar } from '../../manage/schema/jobs';
import type { EpochMs, JobName } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { type Outcome, RAN_OUTCOMES, UNRUN_OUTCOMES } from '../../core/outcome';
import { parseRecordKey } from '../../core/key';
import { showDay } from '../../core/show-time';
import type { LedgerStore, Metadata } from '../../lease/store';
import { pagesOf } from '../../lease/pages';

type OutcomeCalendar = Pick<Calendar, 'days' | 'complete'>;

const RECORDS_A_PAGE = 5_000;
/** A job that is due every minute has as many records in 70 days. */
const RECORDS_AT_MOST = 100_000;
/** How many due times of records of several one answer looks up: 0.1 s of work. */
const LOOKED_UP = 50_000;
const OUTCOMES: readonly Outcome[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES];

/**
 * Counts the outcomes of a job by day, from the summaries that listings of its ledger show: one call for 5,000 records.
 *
 * @param spec has the due times of a record of several. Undefined: such a record counts as its oldest one
 * @param from due at this time or later
 * @param timeZone of the days
 */
export async function outcomesByDay(
  store: LedgerStore,
  { name, spec }: { readonly name: JobName; readonly spec?: JobSpec | undefined },
  { from, timeZone }: { readonly from: EpochMs; readonly timeZone: string },
): Promise<OutcomeCalendar> {
  const days = new Map<string, Partial<Record<Outcome, number>>>();
  const add = (at: EpochMs, outcome: Outcome, count: number): void => {
    if (at < from) return;
    const day = showDay(at, timeZone);
    const counts = days.get(day) ?? {};
    counts[outcome] = (counts[outcome] ?? 0) + count;
    days.set(day, counts);
  };
  let seen = 0;
  let left = LOOKED_UP;
  const list = (from: object) => store.listRecords(name, { limit: RECORDS_A_PAGE, ...from });
  for await (const { records, continuation } of pagesOf(list)) {
    for (const { key, summary } of records) {
      const { scheduledFor: at, request } = parseRecordKey(key) ?? {};
      const outcome = OUTCOMES.find((outcome) => outcome === summary['outcome']);
      if (at === undefined || outcome === undefined) continue;
      const count = countOf(summary);
      const dueTimes = count > left ? undefined : dueTimesOf(spec, at, Date.parse(summary['through'] ?? ''), count);
      left -= dueTimes?.length ?? 0;
      if (dueTimes === undefined) add(at, outcome, count);
      else for (const due of dueTimes) add(due, outcome, 1);
      // A record of several due times has the key of its oldest one, and may come after older manual runs.
      const isLast = request === undefined || spec?.kind !== 'timed';
      if (at < from && isLast) return { days: listed(days), complete: true };
    }
    seen += records.length;
    if (seen >= RECORDS_AT_MOST) return { days: listed(days), complete: continuation === undefined };
  }
  return { days: listed(days), complete: true };
}

function countOf(summary: Metadata): number {
  const count = Number(summary['count'] ?? 1);
  return Number.isSafeInteger(count) && count > 0 ? count : 1;
}

/** The due times of a record of several; undefined: it has one, or they are of another schedule. */
function dueTimesOf(
  spec: JobSpec | undefined,
  from: EpochMs,
  through: EpochMs,
  count: number,
): readonly EpochMs[] | undefined {
  if (spec === undefined || count === 1 || Number.isNaN(through)) return undefined;
  const found: EpochMs[] = [from];
  for (let due = spec.timetable.next(from); due !== undefined && due <= through; due = spec.timetable.next(due)) {
    found.push(due);
    if (found.length > count) return undefined;
  }
  return found.length === count ? found : undefined;
}

function listed(days: ReadonlyMap<string, Partial<Record<Outcome, number>>>): OutcomeCalendar['days'] {
  return [...days].map(([day, outcomes]) => ({ day, outcomes })).sort((a, b) => (a.day < b.day ? 1 : -1));
}
