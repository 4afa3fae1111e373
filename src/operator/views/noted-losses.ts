import { lossError, lossNote, readLoss } from '../../core/past-attempt';
import type { JobName } from '../../core/brand';
import { ForeignRecordError } from '../../core/record';
import type { CallOptions, LogStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import type { ShownRecord } from './list-runs';

/** More than any note has. */
const NOTE_BYTES = 100;

/**
 * Adds what the holders of lost attempts have noted since. A final record is never written again, and a holder whose event
 * loop was blocked notes that only once its successor has the run. Reads nothing for other runs.
 */
export async function withNotedLosses(
  store: LogStore,
  record: ShownRecord,
  key: string,
  options: CallOptions | undefined,
): Promise<ShownRecord> {
  const isUnknown = ({ outcome, error }: ShownRecord['attempts'][number]): boolean =>
    outcome === 'holderLost' && error === null;
  if (!record.attempts.some(isUnknown)) return record;
  const attempts = await inParallel(record.attempts, async (attempt) => {
    if (!isUnknown(attempt)) return attempt;
    const loss = readLoss(await noteOf(store, record.job as JobName, key, attempt.token, options));
    return loss === undefined ? attempt : { ...attempt, error: lossError(loss) };
  });
  return { ...record, attempts };
}

async function noteOf(
  store: LogStore,
  job: JobName,
  key: string,
  token: number,
  options: CallOptions | undefined,
): Promise<string | undefined> {
  try {
    return await store.readLog(job, key, lossNote(token), { from: 0, limit: NOTE_BYTES }, options);
  } catch (error) {
    // Something else wrote it.
    if (error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
