import type { EpochMs } from '../core/brand';
import type { Claim } from '../core/decide/situation';
import { recordKey } from '../core/key';
import type { Row } from '../core/row';

/** The row of a claim, with the values that exist only after the acquisition. */
export function completeRow(claim: Claim, acquiredAt: EpochMs, incumbent: string): Row {
  const { row } = claim;
  if (claim.what !== 'first') return { ...row, incumbent };
  const run =
    claim.run.kind === 'known'
      ? { key: claim.run.key, scheduledFor: claim.run.scheduledFor, ...claim.run.asked }
      : termRun(acquiredAt, Math.max(row.cursor, row.run?.scheduledFor ?? 0));
  return { ...row, incumbent, run: { ...run, trigger: claim.trigger, since: acquiredAt } };
}

/**
 * The service's time has a resolution of 1 s. Two terms in one second, or a stretch and a term, must not share a
 * record.
 */
function termRun(acquiredAt: EpochMs, last: EpochMs): { key: string; scheduledFor: EpochMs } {
  const scheduledFor = Math.max(acquiredAt, last + 1);
  return { key: recordKey(scheduledFor), scheduledFor };
}
