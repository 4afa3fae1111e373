import { given } from '../core/given';
import type { BackfillLedger } from '../core/backfill';
import type { EpochMs, ETag, JobName, Millis } from '../core/brand';
import type { Control } from '../core/control';
import type { JobSpec } from '../core/job';
import { invertedTime, parseRecordKey, timeOfInverted } from '../core/key';
import type { Row } from '../core/row';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import type { ListedRecord } from '../lease/store';
import type { Coordinator } from './coordinator';

/** One reading covers about this many due times, so that a back-fill costs few readings. */
const DUE_TIMES_A_READING = 100;
const PAGE = 500;
/** If there are so many other records among them, the next reading covers only one due time. */
const PAGES = 4;

/** A row with its version, and the control that was listed with it. */
interface Listed {
  readonly row: Row;
  readonly etag: ETag;
  readonly control: Control;
}

/** What this process has read of the ledger for back-fills. One for each process. */
export interface BackfillWatch {
  /** The knowledge that holds for this version of the row. */
  known(job: JobName, listed: Listed): BackfillLedger | undefined;
  /**
   * Reads the records of this due time, and of those around it.
   *
   * @throws StoreError
   */
  read(spec: JobSpec, listed: Listed, due: EpochMs): Promise<void>;
}

interface Noted {
  readonly id: string;
  readonly etag: ETag;
  readonly ledger: BackfillLedger;
}

export function backfillWatch({ store, clock }: Pick<Coordinator, 'store' | 'clock'>): BackfillWatch {
  const noted = new Map<JobName, Noted>();
  const known = (job: JobName, { row, etag, control: { backfill } }: Listed): BackfillLedger | undefined => {
    const note = noted.get(job);
    if (note === undefined || note.id !== backfill?.id) return undefined;
    // Due times pass in order, so nothing after the row's progress has run. Without it, only this version is known.
    return row.backfill?.id === note.id || note.etag === etag ? note.ledger : undefined;
  };

  const list = async (job: JobName, prefix: string): Promise<readonly ListedRecord[] | undefined> => {
    const records: ListedRecord[] = [];
    let continuation: string | undefined;
    for (let pages = 0; pages < PAGES; pages += 1) {
      const request = { prefix, limit: PAGE, ...given({ continuation }) };
      const page = await within(clock, CALL_LIMIT_MS, (signal) => store.listRecords(job, request, { signal }));
      records.push(...page.records);
      continuation = page.continuation;
      if (continuation === undefined) return records;
    }
    return undefined;
  };

  return {
    known,
    async read(spec, listed, due) {
      const { backfill } = listed.control;
      if (backfill === undefined) return;
      const digits = digitsFor(spec, due);
      const inverted = invertedTime(due);
      const around = await list(spec.name, inverted.slice(0, inverted.length - digits));
      const records = around ?? (await list(spec.name, `${inverted}-`)) ?? [];
      const covered = around === undefined ? { from: due, through: due } : blockOf(inverted, digits);
      const before = known(spec.name, listed) ?? NOTHING_READ;
      const ledger = withRecords(before, records, backfill.id);
      const read = [...ledger.read, covered];
      noted.set(spec.name, { id: backfill.id, etag: listed.etag, ledger: { ...ledger, read } });
    },
  };
}

const NOTHING_READ: BackfillLedger = { read: [], succeeded: new Set(), ended: new Set(), open: new Set() };

/** How many of the last digits of a record's key one reading leaves open. */
function digitsFor({ timetable }: JobSpec, due: EpochMs): number {
  const next = timetable.next(due) ?? timetable.previous(due);
  const gap: Millis = next === undefined ? 1 : Math.abs(next - due);
  return Math.min(12, Math.floor(Math.log10(gap * DUE_TIMES_A_READING)));
}

/** The times whose keys begin as this one does. */
function blockOf(inverted: string, digits: number): { readonly from: EpochMs; readonly through: EpochMs } {
  const begin = inverted.slice(0, inverted.length - digits);
  return { from: timeOfInverted(begin + '9'.repeat(digits)), through: timeOfInverted(begin + '0'.repeat(digits)) };
}

function withRecords(before: BackfillLedger, records: readonly ListedRecord[], id: string): BackfillLedger {
  const succeeded = new Set(before.succeeded);
  const ended = new Set(before.ended);
  const open = new Set(before.open);
  for (const { key, summary } of records) {
    const { scheduledFor, request } = parseRecordKey(key) ?? {};
    if (scheduledFor === undefined) continue;
    const isFinal = summary['state'] === 'final';
    if (request === id) (isFinal ? ended : open).add(scheduledFor);
    else if (isSuccess(summary, request)) succeeded.add(scheduledFor);
  }
  return { read: before.read, succeeded, ended, open };
}

/** A run of the schedule or of another back-fill. A request has no due time. */
function isSuccess(summary: Readonly<Record<string, string>>, request: string | undefined): boolean {
  if (summary['state'] !== 'final' || summary['outcome'] !== 'succeeded') return false;
  return request === undefined || summary['trigger'] === 'backfill';
}
