import { type AttemptLoss, lossNote, storeLoss } from '../../core/attempt-loss';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { StoreError } from '../../lease/store';
import type { HeldRow } from '../held';

/**
 * Notes why the attempt lost its lease, for the commands that show its run. Without a lease it may write neither row nor
 * record, so the note is a log of its own. No other attempt has its token.
 */
export async function noteLoss({ coordinator, job, key, row, report }: HeldRow, loss: AttemptLoss): Promise<void> {
  // Storage that refused the renewals would refuse this too.
  if (loss.kind === 'refused') return;
  const { store, clock } = coordinator;
  const { name } = job.spec;
  const note = lossNote(row.token);
  const text = storeLoss(loss);
  try {
    await within(clock, CALL_LIMIT_MS, (signal) => store.createLog(name, key, note, { signal }));
    await within(clock, CALL_LIMIT_MS, (signal) => store.appendLog(name, key, note, { text, at: 0 }, { signal }));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('debug', `job "${name}": the reason why attempt ${String(row.attempt)} was lost is not noted:`, error);
  }
}
