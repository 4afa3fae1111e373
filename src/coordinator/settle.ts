import type { EpochMs, ETag, Millis } from '../core/brand';
import { type Pause, controlOf, encodeControl, openPause } from '../core/control';
import { type AttemptOutcome, type NotRunOutcome, type Reason, type Stretch, extentOf, hasRun } from '../core/outcome';
import { actualTime, nextDue } from '../core/job';
import { runIdOf } from '../core/key';
import { beforeEnd, noticesOfEnd } from '../core/notice';
import { sameOwed } from '../core/owed-notice';
import { withGaps, withRun } from '../core/recent';
import { runEntry } from '../core/recent-run';
import {
  type AttemptRecord,
  type LedgerRecord,
  type RecordedEnd,
  finalRecord,
  openRecord,
  storeRecord,
  stretchRecord,
  unknownRecord,
  waitedBetween,
} from '../core/record';
import { PAST_ATTEMPTS, type Row, isOutcomeUnknown } from '../core/row';
import { failuresAfter } from '../core/run';
import { StoreError, StoreUnavailableError, type StoredRecord } from '../lease/store';
import { readRecord, readUnlessForeign } from './ledger';
import { ownNotices, tellCarried, tellOwed } from './tell';
import type { RowWriter } from './row-writer';

export type RunEnd = RecordedEnd;

/** What the row keeps of a run's end. */
interface RowEnd extends Pick<RunEnd, 'outcome' | 'at'> {
  readonly reason?: Reason;
  /** The first call of its handler. */
  readonly startedAt?: EpochMs | undefined;
  /** How long it waited between its attempts. */
  readonly waitedMs?: Millis | undefined;
}

export type MarkAnswer =
  | { readonly kind: 'marked' }
  /** The run has ended already, with this record. */
  | { readonly kind: 'final'; readonly record: LedgerRecord }
  /** A holder with a higher token has the run. */
  | { readonly kind: 'superseded' };

/**
 * Writes the open record of a claim that may not be the first for its due time. Without it, a leader that was paused
 * after its handler could write its record between a successor's check and the successor's handler. Decision 046.
 */
export async function writeMark(writer: RowWriter, attempts: readonly AttemptRecord[]): Promise<MarkAnswer> {
  const { row, job } = writer;
  const { name } = job.spec;
  const key = runKey(row);
  const mark = storeRecord(openRecord(job.spec, row, attempts));
  const marked = (etag: ETag): MarkAnswer => {
    writer.mark = etag;
    return { kind: 'marked' };
  };
  const created = await writer.ask((store, signal) => store.createRecord(name, key, mark, { signal }));
  if (created.kind === 'created') return marked(created.etag);
  for (;;) {
    const found = await writer.ask((store, signal) => readRecord(store, name, key, { signal }));
    if (found === undefined) throw new StoreUnavailableError(`record "${key}" of job "${name}" exists and is missing`);
    const { record, etag } = found;
    if (record.state === 'final') return { kind: 'final', record };
    if (record.execution === row.execution) return marked(etag);
    if ((record.token ?? 0) >= row.token) return { kind: 'superseded' };
    const replaced = await writer.ask((store, signal) => store.replaceRecord(name, key, mark, etag, { signal }));
    if (replaced.kind === 'replaced') return marked(replaced.etag);
  }
}

/**
 * Ends a run while its lease is still renewed: the row's news, the run's own record, the owed records and notices,
 * release. A crash before the own record is a holder's death; after it, the next holder finishes the rest without the
 * handler. If another holder has the row by now, only the own record is written: the lease is not ours to release.
 *
 * @param beforeRelease uses the lease once more, after the records
 * @returns the run's record; undefined where a successor's record stands
 */
export async function settle(
  writer: RowWriter,
  attempts: readonly AttemptRecord[],
  end: RunEnd,
  beforeRelease: () => Promise<void>,
): Promise<LedgerRecord | undefined> {
  const times = { startedAt: firstCall(attempts), waitedMs: waitedBetween(attempts, end) };
  await tellCarried(writer);
  const rowIsOurs = await writeNews(writer, { ...end, ...times });
  const record = finalRecord(writer.job.spec, writer.row, attempts, end);
  const own = await writeFinal(writer, record);
  if (own === undefined) return undefined;
  if (rowIsOurs) {
    await writeOwed(writer);
    await tellOwed(writer, ownNotices(writer.row), own);
  }
  await beforeRelease();
  if (rowIsOurs) await letGo(writer);
  rememberEnd(writer, { ...end, ...times });
  return own;
}

/** The first call of the handler that is known to have happened. */
function firstCall(attempts: readonly AttemptRecord[]): EpochMs | undefined {
  const startedAt = attempts.find((attempt) => attempt.startedAt !== null)?.startedAt;
  return startedAt == null ? undefined : Date.parse(startedAt);
}

/**
 * Ends a claim that found its run's final record: the row's news, the owed records and notices, release. The writer of
 * that record may have been refused the row, and then it wrote none of them.
 */
export async function settleFound(writer: RowWriter, record: LedgerRecord): Promise<void> {
  const outcome = record.outcome;
  const at = Date.parse(record.endedAt ?? '');
  await tellCarried(writer);
  if (hasRun(outcome) && !Number.isNaN(at) && !(await writeNews(writer, { outcome, at, waitedMs: record.waitedMs })))
    return;
  await writeOwed(writer);
  await tellOwed(writer, ownNotices(writer.row), record);
  await letGo(writer);
}

/**
 * Leaves the run to a later attempt, or to its items: the waiting row, the owed records, release.
 *
 * @returns false when another holder had the row: nothing was written
 */
export async function suspend(
  writer: RowWriter,
  attempt: StartedAttempt | undefined,
  next: { readonly outcome: AttemptOutcome; readonly notBefore: EpochMs },
): Promise<boolean> {
  const { row } = writer;
  const past = attempt === undefined ? row.past : [...row.past, pastAttempt(attempt, next.outcome)];
  const own = ownNotices(row);
  const waiting: Row = {
    // An earlier holder may have counted an end of this run and died before its record: the end is decided again.
    ...beforeEnd(row),
    telling: row.telling.filter((owed) => !own.includes(owed)),
    phase: next.outcome === 'planned' ? 'fanning' : 'retrying',
    uncountedAttempts: row.uncountedAttempts + (next.outcome === 'draining' || next.outcome === 'planned' ? 1 : 0),
    past: past.slice(-PAST_ATTEMPTS),
    notBefore: next.notBefore,
  };
  if (!(await writer.write(waiting))) return false;
  await writeOwed(writer);
  await tellCarried(writer);
  await letGo(writer);
  return true;
}

/**
 * Ends a decision that runs nothing, whose row is written already: the record of a run whose outcome cannot be known,
 * if there is one, the owed records, release.
 *
 * @throws StoreError also when only the release got no answer: the tick then asks again under the same lease id
 */
export async function finishDecided(writer: RowWriter): Promise<void> {
  if (isOutcomeUnknown(writer.row)) await writeOutcomeUnknown(writer);
  await writeOwed(writer);
  await tellOwed(writer, writer.row.telling, undefined);
  await writer.release();
}

/** An attempt whose handler was called. Decision 045. */
export type StartedAttempt = AttemptRecord & { readonly startedAt: string };

function pastAttempt(
  { attempt, token, deployment, startedAt, endedAt }: StartedAttempt,
  outcome: AttemptOutcome,
): Row['past'][number] {
  return {
    attempt,
    token,
    deployment,
    start: Date.parse(startedAt),
    end: endedAt === null ? undefined : Date.parse(endedAt),
    outcome,
  };
}

/** Releases the lease. A failure does no harm: everything is written by now, and the lease expires. */
async function letGo(writer: RowWriter): Promise<void> {
  try {
    await writer.release();
  } catch (error) {
    const { name } = writer.job.spec;
    writer.report.log('warn', `job "${name}": its lease could not be released and will run out:`, error);
  }
}

/** The next claim of the job by this process notes the run's duration in the row, without a call. */
function rememberEnd({ coordinator, job, row }: RowWriter, { outcome, at, ...times }: RowEnd): void {
  if (!hasRun(outcome)) return;
  const entry = runEntry(job.spec, row, { outcome, at, ...times });
  if (entry !== undefined) coordinator.ended.set(job.spec.name, entry);
}

/** Writes the row's news after a run, and pauses the job after too many failures. False: another holder has the row. */
async function writeNews(writer: RowWriter, end: RowEnd): Promise<boolean> {
  const news = newsOf(writer, end);
  if (news !== undefined && !(await writer.write(news))) return false;
  try {
    await pauseAfterFailures(writer, end);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    // A control record that is full, or not cronlease's, must not keep the run from its record.
    writer.report.log('warn', `job "${writer.job.spec.name}": it could not be paused after its failures:`, error);
  }
  return true;
}

/** The row with the due times that passed during the run, and the count of failures; undefined when nothing changes. */
function newsOf({ row, job }: RowWriter, { outcome, at, reason, ...times }: RowEnd): Row | undefined {
  const { spec } = job;
  const count = failuresAfter(beforeEnd(row), outcome);
  const telling = noticesOfEnd(spec, row, { outcome, at });
  const due = nextDue(spec, row.cursor, at);
  // The row follows another file's schedule: this instance cannot compute what passed.
  const passed = spec.scheduleHash !== row.scheduleHash || (due !== undefined && actualTime(spec, due) <= at);
  // A leader job's next term counts its back-off from here.
  const waits = spec.kind === 'always' && count.failures > 0;
  if (!hasRun(outcome)) {
    const recent = withGaps(row.recent, notRunStretch(row, outcome, reason));
    return { ...row, ...count, ...(passed ? { busyUntil: at } : {}), telling, recent };
  }
  const isTold = sameOwed(ownNotices(row), telling);
  if (!passed && !waits && count.failures === row.failures && isTold) return undefined;
  return {
    ...row,
    ...count,
    telling,
    ...(passed || waits ? { busyUntil: at } : {}),
    ...(outcome === 'succeeded' ? { lastGoodAt: at } : {}),
    recent: withRun(row.recent, runEntry(spec, row, { outcome, at, ...times })),
  };
}

/** The due time, or the manual run, of a run whose handler was not called. Lists show none that was back-filled. */
function notRunStretch({ run }: Row, outcome: NotRunOutcome, reason: Reason = 'paused'): readonly Stretch[] {
  if (run === undefined || run.trigger === 'backfill') return [];
  const at = run.scheduledFor;
  return [{ outcome, reason, from: at, through: at, count: 1 }];
}

/**
 * A job that failed so many runs in a row pauses itself, with a note. A run without a failure pauses no job: a person
 * may have resumed it since.
 */
async function pauseAfterFailures(writer: RowWriter, end: RowEnd): Promise<void> {
  const { row, job } = writer;
  const { name, pauseAfterFailures: limit } = job.spec;
  if (limit === undefined || row.failures < limit || end.outcome === 'cancelled' || !hasRun(end.outcome)) return;
  const pause: Pause = {
    by: 'cronlease',
    note: `${String(row.failures)} runs in a row failed, the last was ${runIdOf(name, runKey(row))}`,
    since: end.at,
    until: undefined,
  };
  for (;;) {
    const { control } = await writer.ask((store, signal) => store.readControl(name, { signal }));
    const current = controlOf(control);
    if (openPause(current) !== undefined) return;
    const next = encodeControl({ ...current, pauses: [...current.pauses, pause] });
    const answer = await writer.ask((store, signal) => store.writeControl(name, next, control?.etag, { signal }));
    if (answer === 'written') return;
  }
}

/** Writes the run's own record over its mark, or creates it. Returns undefined where a successor's stands. */
async function writeFinal({ row, job, mark, ask }: RowWriter, record: LedgerRecord): Promise<LedgerRecord | undefined> {
  const { name } = job.spec;
  const key = runKey(row);
  const stored = storeRecord(record);
  for (let over = mark; ; over = undefined) {
    const written = await ask(async (store, signal) => {
      if (over === undefined) return (await store.createRecord(name, key, stored, { signal })).kind === 'created';
      return (await store.replaceRecord(name, key, stored, over, { signal })).kind === 'replaced';
    });
    if (written) return record;
    // It may be our own write, whose answer was lost.
    const found = await ask((store, signal) => readRecord(store, name, key, { signal }));
    // Retention deletes the mark of an attempt that lasts for longer than records are kept.
    if (found === undefined && over !== undefined) continue;
    const isOurs = found?.record.state === 'final' && found.record.execution === row.execution;
    return isOurs ? found.record : undefined;
  }
}

/**
 * Creates the record of a run whose outcome cannot be known. A final record that was created meanwhile stands. So does
 * one that cannot be read: then the event is the only trace of how the run ended.
 */
export async function writeOutcomeUnknown(writer: RowWriter): Promise<void> {
  const { row, job } = writer;
  const { spec } = job;
  const key = runKey(row);
  const record = storeRecord(unknownRecord(spec, row));
  const created = await writer.ask((store, signal) => store.createRecord(spec.name, key, record, { signal }));
  if (created.kind === 'exists' && (await endsOtherwise(writer, key, record))) return;
  writer.event('failed', { reason: 'outcomeUnknown' });
  const { trigger = 'schedule', since = 0 } = row.run ?? {};
  const end = { outcome: 'failed', reason: 'outcomeUnknown', trigger, since, attempts: row.attempt } as const;
  writer.coordinator.telemetry?.ended({ job: spec, key }, end);
}

/**
 * Whether the run has another final record. An open one is the mark of a dead holder, whose call arrived late: it is
 * replaced, because no one else would.
 */
async function endsOtherwise({ job, ask }: RowWriter, key: string, record: StoredRecord): Promise<boolean> {
  const { name } = job.spec;
  for (;;) {
    const found = await ask((store, signal) => readUnlessForeign(store, name, key, signal));
    if (found === 'foreign') return false;
    if (found === undefined || found.record.state === 'final') return true;
    const { etag } = found;
    const answer = await ask((store, signal) => store.replaceRecord(name, key, record, etag, { signal }));
    if (answer.kind === 'replaced') return false;
  }
}

/**
 * Writes the records that the row owes. A record that exists was written by an earlier holder of the same row, from the
 * same decision, so it stands.
 */
async function writeOwed({ coordinator, report, row, job, ask }: RowWriter): Promise<void> {
  const { name } = job.spec;
  const at = coordinator.serviceTime.now();
  for (const stretch of row.owed) {
    const { key, record } = stretchRecord(name, stretch);
    const answer = await ask((store, signal) => store.createRecord(name, key, storeRecord(record), { signal }));
    if (answer.kind === 'exists') continue;
    report.event({
      event: stretch.outcome,
      at,
      job: name,
      scheduledFor: stretch.from,
      runId: record.runId,
      reason: stretch.reason,
      ...extentOf(stretch),
    });
  }
}

export function runKey(row: Row): string {
  if (row.run === undefined) throw new Error('a claimed row names its run');
  return row.run.key;
}
