import type { Row } from '../core/row';
import { invertedTime, parseRecordKey, timeOfInverted } from '../core/key';
import type { Control } from '../core/control';
import type { BackfillLedger } from '../core/backfill';
import type { EpochMs, JobName, ETag, Millis } from '../core/brand';
import type { JobSpec } from '../core/job';
import { type RequiredJob, type RequiredJobs, rememberedSuccess } from '../core/requires';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import type { ListedRow, Listing, ListedRecord } from '../lease/store';
import type { Coordinator } from './coordinator';
import { newestSucceeded, recordPages } from './ledger';

/** What is known of one required job. */
class Noted implements RequiredJob {
  /** ETag and lease of its row, as it was seen last. */
  version: string | undefined;
  /** The claims of this process. A listing that shows one may come later. */
  claims = 0;
  isBusy = false;
  readVersion: string | undefined;
  succeeded: EpochMs | undefined;
  readTo: EpochMs = Infinity;
  readAt: EpochMs = -Infinity;

  get isStale(): boolean {
    return this.version !== this.readVersion;
  }
}

export type RequiredWatch = ReturnType<typeof requiredWatch>;

/** What this process knows of the jobs that others require. One for each process. */
export function requiredWatch({ jobs, clock, store }: Coordinator) {
  const requiredBy = new Map<JobName, JobName[]>();
  for (const { spec } of jobs.values()) {
    for (const name of spec.requires) requiredBy.set(name, [...(requiredBy.get(name) ?? []), spec.name]);
  }
  const noted = new Map([...requiredBy.keys()].map((name) => [name, new Noted()]));
  const noteOf = (name: JobName): Noted => {
    const note = noted.get(name);
    if (note === undefined) throw new Error(`no job requires "${name}"`);
    return note;
  };

  return {
    /**
     * Notes the rows of required jobs in a listing.
     *
     * @returns the jobs that require one whose row has changed
     */
    saw({ jobs: listed }: Listing): ReadonlySet<JobName> {
      const changed = new Set<JobName>();
      for (const [name, note] of noted) {
        const row = listed.get(name)?.row;
        if (row === undefined) continue;
        const version = `${row.etag} ${row.lease}`;
        if (version === note.version) continue;
        note.version = version;
        note.isBusy = isBusy(row);
        note.succeeded = newer(note.succeeded, rememberedSuccess(row.metadata, row.lease));
        for (const requiring of requiredBy.get(name) ?? []) changed.add(requiring);
      }
      return changed;
    },
    /**
     * Notes that this process has claimed a job.
     *
     * @returns the jobs that require it
     */
    claimed(job: JobName): readonly JobName[] {
      const note = noted.get(job);
      if (note !== undefined) note.claims += 1;
      return requiredBy.get(job) ?? [];
    },
    /** The knowledge for a decision on a job; undefined if it requires no other. */
    known({ requires }: JobSpec): RequiredJobs | undefined {
      if (requires.length === 0) return undefined;
      return new Map(requires.map((name) => [name, noteOf(name)]));
    },
    /** The rows of its required jobs, as they were seen last, and how often this process has claimed one. */
    versions({ requires }: JobSpec): string {
      const notes = requires.map(noteOf);
      return notes.map(({ version, claims }) => `${version ?? ''} ${String(claims)}`).join();
    },
    /**
     * Reads the ledgers for successes of these jobs that were due after `since`.
     *
     * @param listedAt the Date of a listing that has come
     * @throws StoreError
     */
    async read(names: readonly JobName[], since: EpochMs, listedAt: EpochMs): Promise<void> {
      await Promise.all(
        names.map(async (name) => {
          const note = noteOf(name);
          // A change of the row during the reading may be the end of a run that the reading misses.
          const { version } = note;
          const found = await newestSucceeded(store, name, since, (call) => within(clock, CALL_LIMIT_MS, call));
          note.succeeded = newer(note.succeeded, found);
          note.readTo = version === note.readVersion ? Math.min(note.readTo, since) : since;
          note.readAt = Math.max(note.readAt, listedAt);
          note.readVersion = version;
        }),
      );
    },
  };
}

function isBusy({ lease, metadata }: ListedRow): boolean {
  return lease !== 'available' || metadata['phase'] === 'fanning';
}

function newer(a: EpochMs | undefined, b: EpochMs | undefined): EpochMs | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

/** One reading covers about this many due times, so that a back-fill costs few readings. */
const DUE_TIMES_A_READING = 100;
const PAGE = 500;
/** If there are so many other records among them, the next reading covers only one due time. */
const PAGES = 4;

interface Listed {
  readonly row: Row;
  readonly etag: ETag;
  readonly control: Control;
}

interface ReadLedger {
  readonly id: string;
  readonly etag: ETag;
  readonly ledger: BackfillLedger;
}

export type BackfillWatch = ReturnType<typeof backfillWatch>;

/** What this process has read of the ledger for back-fills. One for each process. */
export function backfillWatch({ store, clock }: Pick<Coordinator, 'store' | 'clock'>) {
  const noted = new Map<JobName, ReadLedger>();
  /** The knowledge that holds for this version of the row. */
  const known = (job: JobName, { row, etag, control: { backfill } }: Listed): BackfillLedger | undefined => {
    const note = noted.get(job);
    if (note === undefined || note.id !== backfill?.id) return undefined;
    // Due times pass in order, so nothing after the row's progress has run. Without it, only this version is known.
    return row.backfill?.id === note.id || note.etag === etag ? note.ledger : undefined;
  };

  const list = async (job: JobName, prefix: string): Promise<readonly ListedRecord[] | undefined> => {
    const ask = <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => within(clock, CALL_LIMIT_MS, call);
    const found: ListedRecord[] = [];
    let pages = 0;
    for await (const { records, continuation } of recordPages(store, job, ask, { prefix, limit: PAGE })) {
      found.push(...records);
      pages += 1;
      if (continuation === undefined) return found;
      if (pages === PAGES) break;
    }
    return undefined;
  };

  return {
    known,
    /**
     * Reads the records of this due time, and of those around it.
     *
     * @throws StoreError
     */
    async read(spec: JobSpec, listed: Listed, due: EpochMs): Promise<void> {
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
