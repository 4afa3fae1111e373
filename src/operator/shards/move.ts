import type { JobName } from '../../core/brand';
import { type Control, decodeControl, pendingManualRuns } from '../../core/control';
import { inParallel } from '../../core/in-parallel';
import { recordKey, parseRecordKey } from '../../core/key';
import { sameMetadata, isObject, parsedJson } from '../../core/metadata';
import { arrivedRow, arrivingRow, formOf, movedRow } from '../../core/layout';
import { readOwedNotices } from '../../core/owed-notice';
import { recordedEnd, withRecordedEnd } from '../../core/recorded-end';
import { type Row, encodeRow } from '../../core/row';
import { readRecord, readUnlessForeign } from '../../coordinator/ledger';
import type { Metadata, LedgerStore, PieceStore, RequestStore } from '../../lease/store';
import { endRunOf } from '../operations/forget';
import { missingNotices } from '../operations/left-notices';
import { type LeaseTaker, letGo, renewHeld, takeLease, writeMetadata, writeStretches } from '../operations/take-lease';
import { type JobState, currentRun, stateIn } from '../job-state';
import { OperatorError } from '../operator-error';
import { isKeyed, noteOf } from '../operations/once';
import { pagesOf } from '../../lease/pages';
import { recordsBetween, recordsIn } from '../views/find-record';

export interface Move {
  readonly job: JobName;
  readonly from: LeaseTaker;
  readonly to: LeaseTaker;
  /** Whether runs that are not over are recorded as cancelled. */
  readonly endRuns: boolean;
  /** How much of the job's history moves with it. */
  readonly history: History;
}

/**
 * Moves a job: its newest records, its row with its token, its control. Repeated, it finishes what was interrupted. The
 * row in the old account counts until it is marked as moved, under its lease, and the copy counts from then on. So a
 * claim that is made meanwhile finds another ETag, or this command does. Throws `OperatorError` `LeaseHeld`,
 * `RunGoesOn`, `Contended`, `TwoRows`. Throws `ForeignMetadataError` if something else wrote the row or the control.
 */
export async function moveJob(move: Move): Promise<void> {
  const { job, from, to } = move;
  const listing = await from.store.list({ job });
  const seen = listing.jobs.get(job)?.row;
  if (seen !== undefined && formOf(seen.metadata) === 'live') {
    const state = stateIn(listing, job);
    const goesOn = await unfinishedRun(from, job, state);
    if (goesOn !== undefined && !move.endRuns) throw runGoesOn(job, goesOn);
    // Most of them without the lease, which is short.
    await copySpan(move, state.control);
    const holding = await takeLease(from, job, seen);
    const row =
      goesOn === undefined || state.row === undefined ? state.row : await endRunOf(from, holding, state.row, state.now);
    await copyRecords(move, row, state.control);
    const settled = row && (await settledRow(from, job, { ...state, row }));
    const metadata = settled === undefined || settled === state.row ? seen.metadata : encodeRow(settled);
    await placeCopy(to, job, metadata);
    await renewHeld(from, holding);
    await writeMetadata(from, holding, movedRow(metadata, to.store.location));
    await letGo(from, holding);
  }
  await makeLive(to, job);
  await moveControl(move);
}

/**
 * The row with what only its ledger and its notices show. Ticks look there if a row's lease has expired, and that of
 * its copy is released: the end of a run whose holder died after the record, and which notices it still owed.
 */
async function settledRow(
  { store }: LeaseTaker,
  job: JobName,
  { row, lease, control }: JobState & { readonly row: Row },
): Promise<Row> {
  if (lease === 'available') return row.telling.length === 0 ? row : { ...row, telling: [] };
  const found = row.run && (await readUnlessForeign(store, job, row.run.key));
  const ended =
    found === undefined || found === 'foreign' ? row : withRecordedEnd(row, recordedEnd(found.record), undefined);
  return { ...ended, telling: await missingNotices(store, job, ended.telling, control) };
}

/** The run that is not over; undefined if the row can move. */
async function unfinishedRun({ store }: LeaseTaker, job: JobName, state: JobState): Promise<string | undefined> {
  const going = await currentRun(store, job, state);
  if (going !== undefined) return going;
  const { row, lease } = state;
  // The writer of the last run's record may have died before it.
  if (row?.run === undefined || row.phase !== 'idle' || lease === 'available') return undefined;
  const found = await readRecord(store, job, row.run.key);
  return found?.record.state === 'final' ? undefined : row.run.key;
}

function runGoesOn(job: JobName, run: string): OperatorError {
  return new OperatorError(
    'RunGoesOn',
    `run ${run} of job "${job}" is not over. Deployments with the former list continue it: repeat this command later. If ` +
      'there are none, --end-runs records it as cancelled',
  );
}

/** Past records, those that the row owes, and the pieces of a back-filled run that continues in the new account. */
async function copyRecords(move: Move, row: Row | undefined, control: Control): Promise<void> {
  const { job, from, to, history } = move;
  await copyHistory({ job, from, to }, history);
  if (row === undefined) return;
  await copySpan(move, control);
  // The last run may be older than the records that move.
  if (row.run !== undefined) await copyRecord({ job, from, to }, row.run.key);
  await writeStretches(to, { job }, row.owed);
  const { id, aside } = row.backfill ?? {};
  if (aside !== undefined) await copyPieces({ job, from, to }, recordKey(aside.scheduledFor, id));
}

/** A back-fill skips what has succeeded, and shows what it has run, by the records of its span. */
async function copySpan({ job, from, to, history }: Move, { backfill }: Control): Promise<void> {
  if (history !== 'newest' || backfill === undefined) return;
  const [here, there] = await Promise.all([from, to].map(({ store }) => recordsBetween(store, job, backfill)));
  const known = new Set(there?.filter(({ summary }) => summary['state'] !== 'open').map(({ key }) => key));
  const missing = here?.filter(({ key }) => !known.has(key)) ?? [];
  await inParallel(missing, ({ key, summary }) => copyRecord({ job, from, to }, key, summary));
}

async function placeCopy(to: LeaseTaker, job: JobName, metadata: Metadata): Promise<void> {
  if ((await to.store.createRow(job, arrivingRow(metadata, undefined))) === 'created') return;
  const there = await to.store.readRow(job);
  if (there === undefined) throw new OperatorError('Contended', `the row of job "${job}" has vanished: try again`);
  if (formOf(there.metadata) === 'live') throw twoRows(job, to.store.location);
  const holding = await takeLease(to, job, there);
  await writeMetadata(to, holding, arrivingRow(metadata, there.metadata));
  await letGo(to, holding);
}

export function twoRows(job: JobName, location: string): OperatorError {
  return new OperatorError(
    'TwoRows',
    `job "${job}" has a row in ${location} too, as if both accounts had run it by themselves. Decide which one counts, ` +
      'and delete the other blob: the one with the higher token has been claimed more often',
  );
}

/**
 * A copy counts from now on: its original has been marked as moved. One that owes notices is not released, as always:
 * its lease runs out, and the next tick creates them.
 */
export async function makeLive(to: LeaseTaker, job: JobName): Promise<void> {
  const there = await to.store.readRow(job);
  if (there === undefined || formOf(there.metadata) !== 'arriving') return;
  const holding = await takeLease(to, job, there);
  const metadata = arrivedRow(there.metadata);
  await writeMetadata(to, holding, metadata);
  if (readOwedNotices(metadata['notices']).length === 0) await letGo(to, holding);
}

/** The inputs and the keys of manual runs that wait go first, then the control. */
async function moveControl({ job, from, to }: Move): Promise<void> {
  const { control } = await from.store.readControl(job);
  if (control === undefined) return;
  for (const { id } of pendingManualRuns(decodeControl(control.metadata), 0)) await copyRequest({ from, to }, id);
  if ((await to.store.writeControl(job, control.metadata, undefined)) === 'refused') {
    const { control: there } = await to.store.readControl(job);
    if (there === undefined || !sameMetadata(there.metadata, control.metadata)) {
      throw new OperatorError(
        'TwoRows',
        `job "${job}" has a control in ${to.store.location}, and another one in ${from.store.location}, which it has ` +
          'left: repeat in the former what the other one asks for, and delete the other one',
      );
    }
  }
  if ((await from.store.removeControl(job, control.etag)) === 'refused') {
    throw new OperatorError('Contended', `the control of job "${job}" was changed by others meanwhile: try again`);
  }
}

/**
 * How much of a job's ledger is copied. `newest`: so much that `requires`, `why` and lists go on without a gap. `ended`:
 * everything but the records of runs that are not over.
 */
export type History = 'newest' | 'all' | 'ended';

const NEWEST = 20;
const PAGE = 1_000;

interface Copy<Store = LedgerStore & RequestStore> {
  readonly job: JobName;
  readonly from: { readonly store: Store };
  readonly to: { readonly store: Store };
}

/** Copies the records that the other account lacks. Returns how many. */
export async function copyHistory(copy: Copy, history: History): Promise<number> {
  const { job, from, to } = copy;
  const there = history === 'newest' ? new Set<string>() : await keysIn(to.store, job);
  let copied = 0;
  let wanted = history === 'newest' ? NEWEST : Infinity;
  const limit = Math.min(wanted, PAGE);
  for await (const { records } of pagesOf((next) => from.store.listRecords(job, { limit, ...next }))) {
    const missing = records.slice(0, wanted).filter(({ key }) => !there.has(key));
    const results = await inParallel(missing, ({ key, summary }) => copyRecord(copy, key, summary, history));
    copied += results.filter(Boolean).length;
    wanted -= records.length;
    if (wanted <= 0) break;
  }
  return copied;
}

/** Returns whether the other account lacked it, or the end of its run. */
export async function copyRecord(
  { job, from, to }: Copy,
  key: string,
  summary?: Metadata,
  history: History = 'all',
): Promise<boolean> {
  const found = await from.store.readRecord(job, key);
  if (found === undefined || (history === 'ended' && isOpen(found.body))) return false;
  const listed = summary ?? (await recordsIn(from.store, job, { prefix: key, limit: 1 }).next()).value?.summary;
  const stored = { body: found.body, summary: listed ?? {} };
  const request = parseRecordKey(key)?.request;
  // Before the record, which is not copied again.
  if (request !== undefined && stored.summary['trigger'] !== 'backfill') await copyRequest({ from, to }, request);
  if ((await to.store.createRecord(job, key, stored)).kind === 'created') return true;
  if (isOpen(found.body)) return false;
  // The run was not over when a move that was interrupted, or one to the account that the job leaves, has copied it.
  const there = await to.store.readRecord(job, key);
  if (there === undefined || !isOpen(there.body) || tokenIn(there.body) > tokenIn(found.body)) return false;
  return (await to.store.replaceRecord(job, key, stored, there.etag)).kind === 'replaced';
}

/** A rerun without an input has that of the earlier run. A request that is sent again with its key is the same one. */
export async function copyRequest(
  { from, to }: Pick<Copy<RequestStore>, 'from' | 'to'>,
  request: string,
): Promise<void> {
  const copied = async (id: string): Promise<boolean> => {
    const body = await from.store.readRequest(id);
    if (body !== undefined) await to.store.createRequest(id, body);
    return body !== undefined;
  };
  await copied(request);
  let turn = 0;
  while (isKeyed(request) && (await copied(noteOf(request, turn)))) turn += 1;
}

export async function copyPieces({ job, from, to }: Copy<PieceStore>, key: string): Promise<void> {
  for await (const { pieces } of pagesOf((next) => from.store.listPieces(job, { key, limit: PAGE, ...next }))) {
    await inParallel(pieces, async ({ name, summary }) => {
      const body = await from.store.readPiece(job, key, name);
      if (body !== undefined) await to.store.createPiece(job, key, name, { body, summary });
    });
  }
}

/** Of the records of runs that are over. */
async function keysIn(store: LedgerStore, job: JobName): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const { key, summary } of recordsIn(store, job, { limit: PAGE })) {
    if (summary['state'] !== 'open') keys.add(key);
  }
  return keys;
}

function isOpen(body: string): boolean {
  return membersOf(body)['state'] === 'open';
}

/** The token of the attempt that wrote a record; 0: of none. */
function tokenIn(body: string): number {
  return Number(membersOf(body)['token'] ?? 0);
}

/** What no build of cronlease wrote is copied as it is. */
function membersOf(body: string): Readonly<Record<string, unknown>> {
  const record = parsedJson(body);
  return isObject(record) ? record : {};
}
