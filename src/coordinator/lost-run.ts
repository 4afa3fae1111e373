import { asideKey } from '../core/backfill';
import type { ETag, LeaseId, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { ifReadable } from '../core/metadata';
import { type Row, decodeRow, mayRecordBeGone } from '../core/row';
import { type Lease, acquire } from '../lease/acquire';
import { within } from '../lease/deadline';
import { type ListedRow, StoreError } from '../lease/store';
import { elapsedSince, moment } from '../lease/trust';
import type { Coordinator, Report, RunnableJob } from './coordinator';
import { readUnlessForeign } from './ledger';
import { runKey, writeOutcomeUnknown } from './settle';
import { type RowWriter, asking } from './row-writer';

const LIMIT_MS: Millis = 10_000;

/**
 * Looks after the run of a holder that has lost its row. Mostly there is nothing to do: whoever comes next reads from
 * row and record how far the run got. But no instance continues a run whose row was released over it, as a tool can
 * that knows the lease's id: a free row counts as settled. If the row still has the run, its lease is acquired and left
 * to expire, as that of a holder that died. If another run has the row, the outcome of this one is recorded as unknown.
 * Decision 048.
 *
 * @param late the lease, if it may have grown after its holder lost it: it keeps everyone out, and is made short again
 */
export async function lookAfterLost(writer: RowWriter, late: Lease | undefined): Promise<void> {
  const { coordinator, job, row, report } = writer;
  const { name, keepMs } = job.spec;
  const remaining = startLimit(coordinator.clock);
  const ask = asking(coordinator, remaining);
  try {
    const seen = await ask((rows, signal) => rows.readRow(name, { signal }));
    if (late !== undefined && seen?.lease === 'leased') await acquire(coordinator, name, late, remaining);
    const passedTo = seen && leftIn(seen, row);
    if (seen === undefined || passedTo === undefined) return;
    if (mayRecordBeGone(row, keepMs, coordinator.serviceTime.now() + LIMIT_MS)) return;
    const found = await ask((ledger, signal) => readUnlessForeign(ledger, name, runKey(row), signal));
    if (found === 'foreign' || found?.record.state === 'final') return;
    if (passedTo === 'nobody') await letExpire(coordinator, job, { ...seen, remaining }, report);
    else await writeOutcomeUnknown({ ...writer, ask });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('debug', `job "${name}": the row of its lost run could not be read:`, error);
  }
}

/**
 * Looks after the run of a free row, whose job has no due time to come: otherwise the next claim does. One call, and only
 * after a run that took several attempts, as no other has an open record.
 */
export async function lookAfterLeft(
  coordinator: Coordinator,
  job: RunnableJob,
  { row, etag }: { readonly row: Row; readonly etag: ETag },
  report: Report,
): Promise<void> {
  const { clock, store } = coordinator;
  const remaining = startLimit(clock);
  const { name } = job.spec;
  try {
    const found = await within(clock, LIMIT_MS, (signal) => readUnlessForeign(store, name, runKey(row), signal));
    if (found === undefined || found === 'foreign' || found.record.state === 'final') return;
    await letExpire(coordinator, job, { etag, remaining }, report);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('debug', `job "${name}": the record of its last run could not be read:`, error);
  }
}

function startLimit(clock: Clock): () => Millis {
  const since = moment(clock);
  return () => LIMIT_MS - elapsedSince(clock, since);
}

/** Acquires a free row's lease and does not renew it, so that a tick takes the run over as that of a dead holder. */
async function letExpire(
  coordinator: Coordinator,
  job: RunnableJob,
  { etag, remaining }: { readonly etag: ETag; readonly remaining: () => Millis },
  report: Report,
): Promise<void> {
  const { name, leaseMs } = job.spec;
  report.log('warn', `job "${name}": its lease was released during a run`);
  await acquire(coordinator, name, { leaseId: coordinator.newId() as LeaseId, leaseMs, etag }, remaining);
}

/** Who has the row by which a run would continue; undefined: the run continues, or is over. */
function leftIn({ metadata, lease }: ListedRow, own: Row): 'nobody' | 'others' | undefined {
  const row = ifReadable(() => decodeRow(metadata));
  // Its job has moved to another account, or another program wrote it: ticks report that.
  if (row === undefined) return undefined;
  if (row.execution === own.execution) return row.phase === 'running' && lease === 'available' ? 'nobody' : undefined;
  const key = runKey(own);
  if (row.run === undefined || row.run.key === key || row.token <= own.token) return undefined;
  // A back-filled run that gave way continues after that one.
  return asideKey(row.backfill) === key ? undefined : 'others';
}
