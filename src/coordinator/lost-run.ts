import { asideKey } from '../core/backfill';
import type { LeaseId, Millis } from '../core/brand';
import { ForeignMetadataError } from '../core/metadata';
import type { Row } from '../core/row';
import { decodeRow, mayRecordBeGone } from '../core/row';
import { untilAnswered } from '../lease/deadline';
import type { ListedRow } from '../lease/store';
import { StoreError } from '../lease/store';
import { elapsedSince, moment } from '../lease/trust';
import { acquire } from './acquire';
import { readUnlessForeign } from './ledger';
import type { Ask, RowWriter } from './row-writer';
import { runKey, writeOutcomeUnknown } from './settle';

const LIMIT_MS: Millis = 10_000;

/**
 * Looks after the run of a holder that has lost its row. Mostly there is nothing to do: whoever comes next reads from row
 * and record how far the run got. But nobody continues a run whose row somebody has released over it, as a tool can that
 * knows the lease's id: a free row counts as settled. If the row still has the run, its lease is acquired and left to
 * expire, as that of a holder that died. If another run has the row, the outcome of this one is recorded as unknown.
 */
export async function lookAfterLost(writer: RowWriter): Promise<void> {
  const { coordinator, job, row, report } = writer;
  const { clock, store } = coordinator;
  const { name, keepMs, leaseMs } = job.spec;
  const since = moment(clock);
  const remaining = (): Millis => LIMIT_MS - elapsedSince(clock, since);
  const ask: Ask = (call) => untilAnswered(coordinator, remaining, (signal) => call(store, signal));
  try {
    const seen = await ask((rows, signal) => rows.readRow(name, { signal }));
    const passedTo = seen && leftIn(seen, row);
    if (seen === undefined || passedTo === undefined) return;
    if (mayRecordBeGone(row, keepMs, coordinator.serviceTime.now() + LIMIT_MS)) return;
    const found = await ask((ledger, signal) => readUnlessForeign(ledger, name, runKey(row), signal));
    if (found === 'foreign' || found?.record.state === 'final') return;
    report.log('warn', `job "${name}": somebody has released its lease during a run`);
    if (passedTo === 'nobody') {
      const leaseId = coordinator.newId() as LeaseId;
      await acquire(coordinator, { job, leaseId, leaseMs, etag: seen.etag }, remaining);
    } else await writeOutcomeUnknown({ ...writer, ask });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('debug', `job "${name}": the row of its lost run could not be read:`, error);
  }
}

/** Who has the row by which a run would continue; undefined: the run continues, or is over. */
function leftIn({ metadata, lease }: ListedRow, own: Row): 'nobody' | 'others' | undefined {
  let row: Row;
  try {
    row = decodeRow(metadata);
  } catch (error) {
    // Its job has moved to another account, or another program wrote it: ticks report that.
    if (error instanceof ForeignMetadataError) return undefined;
    throw error;
  }
  if (row.execution === own.execution) return row.phase === 'running' && lease === 'available' ? 'nobody' : undefined;
  const key = runKey(own);
  if (row.run === undefined || row.run.key === key || row.token <= own.token) return undefined;
  // A back-filled run that gave way continues after that one.
  return asideKey(row.backfill) === key ? undefined : 'others';
}
