import type { ETag, EpochMs } from '../core/brand';
import type { Pause } from '../core/control';
import { decodeControl, encodeControl, NO_CONTROL, openPause } from '../core/control';
import type { AttemptOutcome, Reason, RunFate } from '../core/fate';
import { RUN_FATES } from '../core/fate';
import { actualTime, nextDue } from '../core/job';
import { runIdOf } from '../core/key';
import type { AttemptRecord, LedgerRecord } from '../core/record';
import { ForeignRecordError, finalRecord, openRecord, storeRecord, unknownRecord } from '../core/record';
import type { Row } from '../core/row';
import { PAST_ATTEMPTS } from '../core/row';
import { failuresAfter } from '../core/run';
import { untilAnswered } from '../lease/deadline';
import { StoreError, StoreUnavailableError } from '../lease/store';
import type { Coordinator, Report } from './coordinator';
import type { Held } from './held';
import { describeRun, writeRow } from './held';
import { readRecord, writeOwed } from './ledger';

export interface RunEnd {
  readonly fate: RunFate;
  readonly reason: Reason;
  readonly at: EpochMs;
  readonly result?: unknown;
}

/** The mark that this claim wrote before its handler was called, if it had to. */
export type Mark = ETag | undefined;

export type MarkAnswer =
  | { readonly kind: 'marked'; readonly etag: ETag }
  /** The run has ended already: this is its record. */
  | { readonly kind: 'final'; readonly record: LedgerRecord }
  /** A higher token has it. */
  | { readonly kind: 'superseded' };

/**
 * Writes the open record of a claim that may not be the first for its occurrence. Without it a paused leader that had
 * finished could write its record between a successor's look and the successor's handler.
 */
export async function writeMark(
  coordinator: Coordinator,
  held: Held,
  attempts: readonly AttemptRecord[],
): Promise<MarkAnswer> {
  const { store } = coordinator;
  const { name } = held.job.spec;
  const key = runKey(held.row);
  const mark = openRecord(held.job.spec, held.row, attempts);
  const remaining = (): number => held.trust.remaining();
  const created = await untilAnswered(coordinator, remaining, (signal) =>
    store.createRecord(name, key, storeRecord(mark), { signal }),
  );
  if (created.kind === 'created') return { kind: 'marked', etag: created.etag };
  for (;;) {
    const found = await untilAnswered(coordinator, remaining, (signal) => readRecord(store, name, key, { signal }));
    if (found === undefined) throw new StoreUnavailableError(`record "${key}" of job "${name}" exists and is missing`);
    const { record, etag } = found;
    if (record.state === 'final') return { kind: 'final', record };
    if (record.execution === held.row.execution) return { kind: 'marked', etag };
    if ((record.token ?? 0) >= held.row.token) return { kind: 'superseded' };
    const replaced = await untilAnswered(coordinator, remaining, (signal) =>
      store.replaceRecord(name, key, storeRecord(mark), etag, { signal }),
    );
    if (replaced.kind === 'replaced') return { kind: 'marked', etag: replaced.etag };
  }
}

/** What became of a run's own record. `superseded`: a successor's stands, and the lease is the successor's to release. */
type OwnRecord = { readonly kind: 'settled'; readonly record: LedgerRecord } | { readonly kind: 'superseded' };

export type Settled =
  | { readonly kind: 'settled'; readonly record: LedgerRecord; readonly mayRelease: boolean }
  | { readonly kind: 'superseded' };

/**
 * Ends a run while its lease is still renewed: what is new into the row, the run's own record, the owed ones. The
 * caller releases. A crash after the own record is finished by whoever comes next; a crash before it is a holder's
 * death.
 *
 * @returns `mayRelease` false when the row was not ours any more: then only the own record was written
 */
export async function settle(
  coordinator: Coordinator,
  held: Held,
  mark: Mark,
  attempts: readonly AttemptRecord[],
  end: RunEnd,
  report: Report,
): Promise<Settled> {
  const rowIsOurs = await writeNews(coordinator, held, end, report);
  const record = finalRecord(held.job.spec, held.row, attempts, end);
  const own = await writeFinal(coordinator, held, mark, record);
  if (own.kind === 'superseded') return own;
  if (rowIsOurs) await writeOwedOf(coordinator, held, report);
  return { ...own, mayRelease: rowIsOurs };
}

/**
 * A claim found that its run had ended already: what that end means for the row, and what is owed. A leader whose row
 * write was refused could not say it there.
 *
 * @returns false when the row was not ours any more
 */
export async function settleFound(
  coordinator: Coordinator,
  held: Held,
  record: LedgerRecord,
  report: Report,
): Promise<boolean> {
  const fate = RUN_FATES.find((candidate) => candidate === record.outcome);
  const at = Date.parse(record.endedAt ?? '');
  if (fate !== undefined && !Number.isNaN(at)) {
    if (!(await writeNews(coordinator, held, { fate, at }, report))) return false;
  }
  await writeOwedOf(coordinator, held, report);
  return true;
}

/** What a run's end means for its row and, after too many failures, for its job. False: the row was not ours any more. */
async function writeNews(
  coordinator: Coordinator,
  held: Held,
  end: Pick<RunEnd, 'fate' | 'at'>,
  report: Report,
): Promise<boolean> {
  const news = newsOf(held, end);
  if (news !== undefined) {
    const written = await writeRow(coordinator, held, news, () => held.trust.remaining());
    if (written.kind === 'refused') return false;
    held.row = news;
    held.etag = written.etag;
  }
  try {
    await pauseAfterFailures(coordinator, held, end);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    // A control record that is full, or is none of ours, must not keep the run from its record.
    report.log('warn', `job "${held.job.spec.name}": it could not be paused after its failures:`, error);
  }
  return true;
}

/**
 * The record of the row's run, whose outcome nobody knows. One that is there meanwhile stands; so does one that cannot
 * be read, and there the event alone says how the run ended.
 */
export async function writeOutcomeUnknown(coordinator: Coordinator, held: Held, report: Report): Promise<void> {
  const { spec } = held.job;
  const key = runKey(held.row);
  const created = await untilAnswered(
    coordinator,
    () => held.trust.remaining(),
    (signal) => coordinator.store.createRecord(spec.name, key, storeRecord(unknownRecord(spec, held.row)), { signal }),
  );
  if (created.kind === 'exists' && (await isReadable(coordinator, held, key))) return;
  report.event({
    event: 'failed',
    at: coordinator.serviceTime.now(),
    ...describeRun(held),
    reason: 'outcomeUnknown',
  });
}

async function isReadable({ store, clock, random }: Coordinator, held: Held, key: string): Promise<boolean> {
  try {
    const remaining = (): number => held.trust.remaining();
    await untilAnswered({ clock, random }, remaining, (signal) =>
      readRecord(store, held.job.spec.name, key, { signal }),
    );
    return true;
  } catch (error) {
    if (error instanceof ForeignRecordError) return false;
    throw error;
  }
}

/** What the row owes, written under its lease. */
export async function writeOwedOf(coordinator: Coordinator, held: Held, report: Report): Promise<void> {
  const remaining = (): number => held.trust.remaining();
  await writeOwed(
    coordinator.store,
    held.job.spec.name,
    held.row.owed,
    (call) => untilAnswered(coordinator, remaining, call),
    report,
    coordinator.serviceTime.now(),
  );
}

/**
 * Lets the run go on later, or after its items: the row waits, its owed records are written.
 *
 * @returns false when the row was not ours any more
 */
export async function suspend(
  coordinator: Coordinator,
  held: Held,
  attempt: (AttemptRecord & { readonly startedAt: string }) | undefined,
  next: { readonly outcome: AttemptOutcome; readonly notBefore: EpochMs },
  report: Report,
): Promise<boolean> {
  const { row } = held;
  const past =
    attempt === undefined
      ? row.past
      : [
          ...row.past,
          {
            attempt: attempt.attempt,
            token: attempt.token,
            deployment: attempt.deployment,
            start: Date.parse(attempt.startedAt),
            end: attempt.endedAt === null ? undefined : Date.parse(attempt.endedAt),
            outcome: next.outcome,
          },
        ].slice(-PAST_ATTEMPTS);
  const waiting: Row = {
    ...row,
    phase: next.outcome === 'planned' ? 'fanning' : 'retrying',
    uncountedAttempts: row.uncountedAttempts + (next.outcome === 'draining' || next.outcome === 'planned' ? 1 : 0),
    past,
    notBefore: next.notBefore,
  };
  const written = await writeRow(coordinator, held, waiting, () => held.trust.remaining());
  if (written.kind === 'refused') return false;
  held.row = waiting;
  held.etag = written.etag;
  await writeOwedOf(coordinator, held, report);
  return true;
}

/** Due times that passed during the run, and the count of failures; undefined when there is nothing to say. */
function newsOf(held: Held, end: Pick<RunEnd, 'fate' | 'at'>): Row | undefined {
  const { row } = held;
  const { spec } = held.job;
  const count = failuresAfter(row, end.fate);
  const due = nextDue(spec, row.cursor, end.at);
  // By another file's schedule nobody can tell here what passed.
  const passed = spec.scheduleHash !== row.scheduleHash || (due !== undefined && actualTime(spec, due) <= end.at);
  // A leader job's next term counts its back-off from here.
  const waits = spec.kind === 'always' && count.failures > 0;
  if (!passed && !waits && count.failures === row.failures) return undefined;
  return {
    ...row,
    ...count,
    ...(passed || waits ? { busyUntil: end.at } : {}),
    ...(end.fate === 'succeeded' ? { lastGoodAt: end.at } : {}),
  };
}

async function writeFinal(coordinator: Coordinator, held: Held, mark: Mark, record: LedgerRecord): Promise<OwnRecord> {
  const { store } = coordinator;
  const { name } = held.job.spec;
  const key = runKey(held.row);
  const remaining = (): number => held.trust.remaining();
  const stored = storeRecord(record);
  const written = await untilAnswered(coordinator, remaining, async (signal) => {
    if (mark === undefined) return (await store.createRecord(name, key, stored, { signal })).kind === 'created';
    return (await store.replaceRecord(name, key, stored, mark, { signal })).kind === 'replaced';
  });
  if (written) return { kind: 'settled', record };
  // It may be our own write, whose answer was lost.
  const found = await untilAnswered(coordinator, remaining, (signal) => readRecord(store, name, key, { signal }));
  const ours = found?.record.state === 'final' && found.record.execution === held.row.execution;
  return ours ? { kind: 'settled', record: found.record } : { kind: 'superseded' };
}

/** A job that failed so many runs in a row pauses itself, with a note. */
async function pauseAfterFailures(
  coordinator: Coordinator,
  held: Held,
  end: Pick<RunEnd, 'fate' | 'at'>,
): Promise<void> {
  const { spec } = held.job;
  const { failures } = held.row;
  if (spec.pauseAfterFailures === undefined || failures < spec.pauseAfterFailures || end.fate === 'cancelled') return;
  const remaining = (): number => held.trust.remaining();
  const pause: Pause = {
    by: 'cronlease',
    note: `${String(failures)} runs in a row failed, the last was ${runIdOf(spec.name, runKey(held.row))}`,
    since: end.at,
    until: undefined,
  };
  for (;;) {
    const { control } = await untilAnswered(coordinator, remaining, (signal) =>
      coordinator.store.readControl(spec.name, { signal }),
    );
    const current = control === undefined ? NO_CONTROL : decodeControl(control.metadata);
    if (openPause(current) !== undefined) return;
    const next = encodeControl({ ...current, pauses: [...current.pauses, pause] });
    const answer = await untilAnswered(coordinator, remaining, (signal) =>
      coordinator.store.writeControl(spec.name, next, control?.etag, { signal }),
    );
    if (answer === 'written') return;
  }
}

export function runKey(row: Row): string {
  if (row.run === undefined) throw new Error('a claimed row names its run');
  return row.run.key;
}
