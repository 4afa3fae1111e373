import type { JobName } from '../../core/brand';
import { type Control, decodeControl, pendingManualRuns } from '../../core/control';
import { inParallel } from '../../core/in-parallel';
import { recordKey } from '../../core/key';
import { sameMetadata } from '../../core/metadata';
import { arrivedRow, arrivingRow, formOf, movedRow } from '../../core/layout';
import { readOwedNotices } from '../../core/owed-notice';
import { recordedEnd, withRecordedEnd } from '../../core/notice';
import { type Row, encodeRow } from '../../core/row';
import { readRecord, readUnlessForeign } from '../../coordinator/ledger';
import type { Metadata } from '../../lease/store';
import { recordsBetween } from '../operations/backfill-plan';
import { endRunOf } from '../operations/forget';
import { missingNotices } from '../operations/left-notices';
import { type JobState, currentRun, stateIn } from '../job-state';
import { OperatorError } from '../operator-error';
import { type LeaseTaker, letGo, renewHeld, takeLease, writeMetadata, writeStretches } from '../operations/take-lease';
import { type History, copyHistory, copyPieces, copyRecord, copyRequest } from './history';

export interface Move {
  readonly job: JobName;
  readonly from: LeaseTaker;
  readonly to: LeaseTaker;
  /** Whether to record a run that is not over as cancelled. */
  readonly endRuns: boolean;
  /** How much of the job's history moves with it. */
  readonly history: History;
}

/**
 * Moves a job: its newest records, its row with its token, its control. Repeated, it finishes what was interrupted. The
 * row in the old account counts until it is marked as moved, under its lease, and the copy counts from then on. So a
 * claim that is made meanwhile finds another ETag, or this command does.
 *
 * @throws OperatorError `LeaseHeld`, `RunGoesOn`, `Contended`, `TwoRows`
 * @throws ForeignMetadataError if something else wrote the row or the control
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

/**
 * Records of the past, those that the row owes, and the pieces of a back-filled run that continues in the new account.
 */
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
  const [here, there] = await Promise.all(
    [from, to].map(({ store }) => recordsBetween(store, job, backfill, undefined)),
  );
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
