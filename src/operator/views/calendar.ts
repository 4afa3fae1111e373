import type { EpochMs, JobName } from '../../core/brand';
import { type Outcome, RAN_OUTCOMES, UNRUN_OUTCOMES } from '../../core/outcome';
import { parseRecordKey } from '../../core/key';
import { showDay } from '../../core/show-time';
import type { CallOptions, LedgerStore } from '../../lease/store';
import { pagesOf } from '../pages';

/** How many due times of a day had each outcome. Runs in progress are left out. */
export interface DayOfOutcomes {
  /** `2026-01-31`, on the clocks of the zone. */
  readonly day: string;
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
}

export interface OutcomeCalendar {
  /** The days that have outcomes, newest first. */
  readonly days: readonly DayOfOutcomes[];
  /** False: the ledger has more records than one answer counts, so that older days lack some. */
  readonly complete: boolean;
}

const RECORDS_A_PAGE = 5_000;
/** A job that is due every minute has as many records in 70 days. */
const RECORDS_AT_MOST = 100_000;
const OUTCOMES: readonly Outcome[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES];

/**
 * Counts the outcomes of a job by day, from the summaries that listings of its ledger show: one call for 5,000 records.
 *
 * @param from due at this time or later
 * @param timeZone of the days
 */
export async function outcomesByDay(
  store: LedgerStore,
  job: JobName,
  { from, timeZone }: { readonly from: EpochMs; readonly timeZone: string },
  options?: CallOptions,
): Promise<OutcomeCalendar> {
  const days = new Map<string, Partial<Record<Outcome, number>>>();
  let seen = 0;
  const list = (from: object) => store.listRecords(job, { limit: RECORDS_A_PAGE, ...from }, options);
  for await (const { records, continuation } of pagesOf(list)) {
    for (const { key, summary } of records) {
      const at = parseRecordKey(key)?.scheduledFor;
      const outcome = OUTCOMES.find((outcome) => outcome === summary['outcome']);
      if (at === undefined || outcome === undefined) continue;
      if (at < from) return { days: listed(days), complete: true };
      const day = showDay(at, timeZone);
      const counts = days.get(day) ?? {};
      const count = Number(summary['count'] ?? 1);
      counts[outcome] = (counts[outcome] ?? 0) + (Number.isSafeInteger(count) && count > 0 ? count : 1);
      days.set(day, counts);
    }
    seen += records.length;
    if (seen >= RECORDS_AT_MOST) return { days: listed(days), complete: continuation === undefined };
  }
  return { days: listed(days), complete: true };
}

function listed(days: ReadonlyMap<string, Partial<Record<Outcome, number>>>): readonly DayOfOutcomes[] {
  return [...days].map(([day, outcomes]) => ({ day, outcomes })).sort((a, b) => (a.day < b.day ? 1 : -1));
}
