import { type Backfill, asideKey } from '../../core/backfill';
import type { EpochMs, JobName } from '../../core/brand';
import { PLAN_PIECE, STOP_PIECE } from '../../core/fan-out';
import type { Stretch } from '../../core/outcome';
import type { JobSpec, JobsFile } from '../../core/job';
import { parseRecordKey, recordKey, runIdOf } from '../../core/key';
import { attemptHistory, finalRecord, openRecord, unknownRecord } from '../../core/record';
import {
  ENDING,
  type RecordView,
  type RecoverChoices,
  type Recovery,
  type RunRecovery,
  type Wreck,
  afterFailover,
  listedFrom,
} from '../../core/failover';
import { OWED_STRETCHES, type Row, asideRow, encodeRow, firstCursor, newRow } from '../../core/row';
import { readRecord } from '../../coordinator/ledger';
import { decodeFields, sameMetadata, wholeIn } from '../../core/metadata';
import type { ListedRecord, ListedRow, Listing, MissingAccount, ElectionStore } from '../../lease/store';
import type { OwedNotice } from '../../core/owed-notice';
import { inParallel } from '../../core/in-parallel';
import { type LeftNotice, createNotices, leftNotice, missingNotices } from './left-notices';
import {
  type LeaseTaker,
  type Holding,
  letGo,
  renewHeld,
  takeLease,
  writeEnd,
  writeHeld,
  writeStretches,
  writeMetadata,
} from './take-lease';
import { type JobState, stateIn } from '../job-state';
import { OperatorError, type Refusal, orRefusal } from '../operator-error';
import { pagesOf } from '../../lease/pages';
import { recordsBetween, recordsIn } from '../views/find-record';

const PAGE = 500;
/** How many records of a job without a cursor are read. A failover can lose only younger ones. */
const RECORDS_WITHOUT_CURSOR = 1_000;

export type JobRecovery =
  | {
      readonly kind: 'recovered';
      readonly job: JobName;
      /** Whether the job is in the file. Otherwise its due times are unknown, and none gets an outcome. */
      readonly inFile: boolean;
      /** Whether its row was lost and is created again. */
      readonly isNew: boolean;
      readonly token: Change;
      readonly cursor: Change;
      readonly run: (RunRecovery & { readonly runId: string }) | undefined;
      readonly stretches: readonly Stretch[];
      /** Ids of runs that were started and that no row continues. They end as `failed`. */
      readonly abandoned: readonly string[];
      /** Notices that a dead holder has left, with their receivers. Without any, the notice is dropped. */
      readonly notices: readonly (LeftNotice & { readonly to: readonly string[] })[];
    }
  | (Refusal & { readonly job: JobName });

interface Change {
  readonly from: number;
  readonly to: number;
}

export interface RecoverRequest extends Omit<RecoverChoices, 'until'> {
  readonly file: JobsFile;
  /** Undefined: the current time by the storage service's clock. */
  readonly until: EpochMs | undefined;
  /** False: write nothing, and return the plan. */
  readonly apply: boolean;
}

/**
 * Repairs every job after an asynchronous failover of the storage account. Stop every deployment before. Repeated, it
 * finishes what was interrupted. Throws `OperatorError` `FutureTime`.
 */
export async function recoverJobs(
  desk: LeaseTaker,
  request: RecoverRequest,
): Promise<{ readonly until: EpochMs; readonly jobs: readonly JobRecovery[] }> {
  const listing = await desk.store.list();
  const { until = listing.date } = request;
  if (until > listing.date) {
    throw new OperatorError(
      'FutureTime',
      `${new Date(until).toISOString()} is in the future by the storage service's clock: name a time that has passed`,
    );
  }
  const specs = new Map(request.file.jobs.map((spec) => [spec.name, spec]));
  const { store } = desk;
  const away = listing.missing ?? [];
  // The rows of an account that was not listed are not lost.
  const names = [...new Set([...specs.keys(), ...listing.jobs.keys()])]
    .filter((job) => !away.some(({ location }) => location === (store.home?.(job) ?? store).location))
    .sort();
  const jobs = await inParallel(names, async (job) => {
    const result = await orRefusal(() => recoverJob(desk, { ...request, until }, listing, job, specs.get(job)));
    return result && { ...result, job };
  });
  return { until, jobs: [...jobs.filter((job) => job !== undefined), ...away.map(unlisted)] };
}

/** Stands for all jobs of the account. */
function unlisted({ location, reason }: MissingAccount): JobRecovery {
  const problem = `${reason}: its jobs are left as they are`;
  return { kind: 'refused', job: location as JobName, code: 'StoreUnavailable', problem };
}

async function recoverJob(
  desk: LeaseTaker,
  request: RecoverRequest & { readonly until: EpochMs },
  listing: Listing,
  job: JobName,
  spec: JobSpec | undefined,
): Promise<JobRecovery | undefined> {
  const state = stateIn(listing, job);
  const listed = await recordsOf(desk, job, spec, state.row && listedFrom(state.row, request.until));
  const records = [...listed, ...(await filledIn(desk, job, state.control.backfill, listed))];
  const row = state.row ?? lostRow(request, spec, records);
  // A control without a row or a job in the file. Nothing of it can go back.
  if (row === undefined) return undefined;
  refuseOlderFile(request.file.revision, spec, row);
  const wreck = await wreckOf(desk, job, { ...state, row }, spec, records);
  const recovery = afterFailover(wreck, request);
  const missing = await missingNotices(desk.store, job, recovery.row.telling, state.control);
  if (request.apply) {
    // A row that is created has the raised token at once, in case that this command dies before the next write.
    const created = { ...row, token: recovery.row.token };
    const seen = listing.jobs.get(job)?.row ?? (await createRow(desk, job, created));
    await carryOut(desk, await takeLease(desk, job, seen), wreck, recovery, missing);
  } else if (state.lease === 'held') {
    throw new OperatorError('LeaseHeld', `the lease of job "${job}" is held: stop every deployment before --apply`);
  }
  return {
    kind: 'recovered',
    job,
    inFile: spec !== undefined,
    isNew: state.row === undefined,
    token: { from: row.token, to: recovery.row.token },
    cursor: { from: row.cursor, to: recovery.row.cursor },
    run: recovery.run && { ...recovery.run, runId: runIdOf(job, row.run?.key ?? '') },
    stretches: recovery.stretches,
    abandoned: recovery.abandoned.map((key) => runIdOf(job, key)),
    notices: missing.map((owed) => ({ ...leftNotice(job, owed), to: spec?.notify?.to ?? [] })),
  };
}

/** A stand-in for a lost row. The job's ledger shows how far it got. */
function lostRow(
  { file, until }: { readonly file: JobsFile; readonly until: EpochMs },
  spec: JobSpec | undefined,
  records: readonly RecordView[],
): Row | undefined {
  if (spec === undefined) return undefined;
  const oldest = records.findLast((record) => record.request === undefined);
  const cursor = oldest === undefined ? firstCursor(spec, until - spec.offsetMs) : oldest.scheduledFor - 1;
  return newRow(cursor, file.revision, spec.scheduleHash);
}

async function createRow({ store }: LeaseTaker, job: JobName, row: Row): Promise<ListedRow> {
  const metadata = encodeRow(row);
  await store.createRow(job, metadata);
  const created = await store.readRow(job);
  if (created !== undefined && sameMetadata(created.metadata, metadata)) return created;
  throw new OperatorError('Contended', `the row of job "${job}" was written or removed meanwhile: try again`);
}

function refuseOlderFile(revision: number, spec: JobSpec | undefined, row: Row): void {
  if (spec === undefined || spec.scheduleHash === row.scheduleHash || revision >= row.revision) return;
  throw new OperatorError(
    'OlderFile',
    `job "${spec.name}" follows revision ${row.revision} of the jobs file with another schedule, and this one has ` +
      `revision ${revision}: use the newer file`,
  );
}

/** The records after an instant and one before it, newest first. Undefined: the job has no row. */
async function recordsOf(
  { store }: LeaseTaker,
  job: JobName,
  spec: JobSpec | undefined,
  from: EpochMs | undefined,
): Promise<readonly RecordView[]> {
  const hasCursor = from !== undefined && (spec === undefined || spec.kind === 'timed');
  const records: RecordView[] = [];
  for await (const listed of recordsIn(store, job, { limit: PAGE })) {
    const record = viewOf(listed);
    if (record === undefined) continue;
    records.push(record);
    if (hasCursor && record.request === undefined && record.scheduledFor <= from) return records;
    if (!hasCursor && records.length >= RECORDS_WITHOUT_CURSOR) return records;
  }
  return records;
}

/** The other records of the last back-fill: those of its runs have the keys of old due times. */
async function filledIn(
  { store }: LeaseTaker,
  job: JobName,
  backfill: Backfill | undefined,
  listed: readonly RecordView[],
): Promise<readonly RecordView[]> {
  if (backfill === undefined) return [];
  const known = new Set(listed.map(({ key }) => key));
  return (await recordsBetween(store, job, backfill)).flatMap((record) => {
    const view = viewOf(record);
    return view?.request === backfill.id && !known.has(view.key) ? [view] : [];
  });
}

function viewOf({ key, summary }: ListedRecord): RecordView | undefined {
  const parts = parseRecordKey(key);
  if (parts === undefined) return undefined;
  const { state, token, through } = summary;
  return {
    key,
    scheduledFor: parts.scheduledFor,
    through: through === undefined ? parts.scheduledFor : Date.parse(through),
    request: parts.request,
    state: state === 'open' ? 'open' : 'final',
    token: token === undefined ? undefined : Number(token),
  };
}

async function wreckOf(
  { store }: LeaseTaker,
  job: JobName,
  { row, control, now }: JobState & { readonly row: Row },
  spec: JobSpec | undefined,
  records: readonly RecordView[],
): Promise<Wreck> {
  const ofRun = row.run && (await readRecord(store, job, row.run.key));
  const aside = asideKey(row.backfill);
  const ofAside = aside === undefined ? undefined : await readRecord(store, job, aside);
  const recorded = await inParallel(control.manualRuns, async ({ id, time }) => {
    const found = await store.readRecord(job, recordKey(time, id));
    return found === undefined ? undefined : id;
  });
  return {
    spec,
    row,
    control,
    records,
    now,
    runRecord: ofRun?.record.state ?? 'none',
    isAsideOver: ofAside?.record.state === 'final',
    recordedManualRuns: new Set(recorded.filter((id) => id !== undefined)),
  };
}

/**
 * Writes the row before the records, the records before the notices, and these before the release. The cursor stays
 * until the row's run and all abandoned runs have ended, so that a repeat after a crash finds all of them again.
 */
async function carryOut(
  desk: LeaseTaker,
  holding: Holding,
  { spec, row, now }: Wreck,
  recovery: Recovery,
  notices: readonly OwedNotice[],
): Promise<void> {
  const { job } = holding;
  const target: Row = { ...recovery.row, execution: recovery.row.forgotten === undefined ? desk.newId() : undefined };
  // The records that an available row owes are usually written. After a failover, an older row may be available only
  // because its lease is lost.
  await writeStretches(desk, holding, row.owed);
  if (row.run !== undefined && (recovery.run?.kind === 'goesOn' || recovery.run?.kind === 'waits')) {
    await dropPieces(desk, job, row.run.key);
  }
  if (recovery.run?.kind === 'ends' || recovery.abandoned.length > 0) {
    const isEnding = recovery.run?.kind === 'ends' && recovery.run.reason !== 'outcomeUnknown';
    const { cursor, manualTaken, backfill } = row;
    await writeHeld(desk, holding, { ...target, ...(isEnding && ENDING), cursor, manualTaken, backfill });
    if (recovery.run?.kind === 'ends' && row.run !== undefined) {
      const about = { name: job, offsetMs: spec?.offsetMs ?? 0 };
      const end =
        recovery.run.reason === 'outcomeUnknown'
          ? unknownRecord(about, target)
          : finalRecord(about, target, attemptHistory(target.past, []), { ...recovery.run, at: now });
      await writeEnd(desk, holding, row.run.key, end);
    }
    await inParallel(recovery.abandoned, (key) => abandon(desk, holding, key, { row, target, now }));
    await renewHeld(desk, holding);
  }
  for (let done = 0; ; done += OWED_STRETCHES) {
    const owed = recovery.stretches.slice(done, done + OWED_STRETCHES);
    const isLast = done + OWED_STRETCHES >= recovery.stretches.length;
    await writeHeld(desk, holding, isLast ? { ...target, owed } : { ...partly(target, row, owed), owed });
    await writeStretches(desk, holding, owed);
    if (isLast) break;
    await renewHeld(desk, holding);
  }
  if (spec !== undefined && notices.length > 0) {
    await renewHeld(desk, holding);
    await createNotices(desk.store, spec, notices, now);
  }
  await letGo(desk, holding);
}

/**
 * Deletes the pieces of a run that continues which nothing supports: all of them if its plan is lost, because the next
 * plan may have other items, and the mark that stops items, because the end of the failed item may be lost.
 */
async function dropPieces({ store }: LeaseTaker, job: JobName, key: string): Promise<void> {
  const names: string[] = [];
  for await (const { pieces } of pagesOf((from) => store.listPieces(job, { key, limit: PAGE, ...from }))) {
    names.push(...pieces.map(({ name }) => name));
  }
  const dropped = names.includes(PLAN_PIECE) ? names.filter((name) => name === STOP_PIECE) : names;
  await inParallel(dropped, (name) => store.deletePiece(job, key, name));
}

/** The row with only these stretches, and older due times, decided. Records show which manual runs are done. */
function partly(target: Row, row: Row, owed: readonly Stretch[]): Row {
  const dueTimes = owed.filter(({ request }) => request === undefined);
  const cursor = Math.max(row.cursor, ...dueTimes.map(({ through }) => through));
  return { ...target, cursor, manualTaken: row.manualTaken };
}

/**
 * Ends an open record that no row continues. Its run was started, and its outcome is lost. The back-filled run that
 * waits while due times go first may have no record yet.
 */
async function abandon(
  desk: LeaseTaker,
  holding: Holding,
  key: string,
  { row, target: { token }, now }: { readonly row: Row; readonly target: Row; readonly now: EpochMs },
): Promise<void> {
  const { job } = holding;
  const found = await readRecord(desk.store, job, key);
  const aside = asideRow(row);
  const unrecorded = aside?.run?.key === key ? { ...aside, token, execution: undefined } : undefined;
  const open =
    found?.record ??
    (unrecorded && openRecord({ name: job, offsetMs: 0 }, unrecorded, attemptHistory(unrecorded.past, [])));
  if (open === undefined) return;
  const endedAt = new Date(now).toISOString();
  await writeEnd(desk, holding, key, { ...open, state: 'final', outcome: 'failed', reason: 'failedOver', endedAt });
}

export type ElectionRecovery =
  | {
      readonly kind: 'recovered';
      readonly election: JobName;
      readonly token: { readonly from: number; readonly to: number };
    }
  | (Refusal & { readonly election: JobName });

/** Raises the token of every election after a failover. Stop every program that campaigns before. */
export async function recoverElections(
  desk: LeaseTaker<ElectionStore>,
  { raiseBy, apply }: { readonly raiseBy: number; readonly apply: boolean },
): Promise<readonly ElectionRecovery[]> {
  const rows = await desk.store.listRows();
  return inParallel(rows, async ([election, row]) => ({
    election,
    ...(await orRefusal(() => recoverElection(desk, election, row, raiseBy, apply))),
  }));
}

async function recoverElection(
  desk: LeaseTaker<ElectionStore>,
  election: JobName,
  row: ListedRow,
  raiseBy: number,
  apply: boolean,
): Promise<Omit<Extract<ElectionRecovery, { kind: 'recovered' }>, 'election'>> {
  const from = decodeFields({ token: wholeIn('token') }, row.metadata).token;
  const to = from + raiseBy;
  if (apply) {
    const holding = await takeLease(desk, election, row, `election "${election}"`);
    await writeMetadata(desk, holding, { ...row.metadata, token: String(to) });
    await letGo(desk, holding);
  }
  return { kind: 'recovered', token: { from, to } };
}
