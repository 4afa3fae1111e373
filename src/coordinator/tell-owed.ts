import { decodeControl, isPausedFor } from '../core/control';
import { runIdOf } from '../core/key';
import { ForeignMetadataError } from '../core/metadata';
import { endNotice } from '../core/notice';
import { isToldAsOverdue } from '../core/notice-sweep';
import type { OwedNotice } from '../core/owed-notice';
import type { LedgerRecord } from '../core/record';
import type { Row } from '../core/row';
import { readUnlessForeign } from './ledger';
import { listNotices, readListed } from './list-notices';
import type { RowWriter } from './row-writer';
import { tell } from './tell';

/** The notices about the row's own run, which its holder decides again. */
export function ownNotices({ telling, run }: Row): readonly OwedNotice[] {
  return telling.filter(({ of }) => of === run?.key);
}

/**
 * Creates the notices about earlier runs that a dead holder left. That comes before the row's news, so that a row never
 * owes more than the notices of one run.
 */
export async function tellCarried(writer: RowWriter): Promise<void> {
  const { row } = writer;
  const own = ownNotices(row);
  await tellOwed(
    writer,
    row.telling.filter((owed) => !own.includes(owed)),
    undefined,
  );
}

/** Creates notices that the row owes. One that exists was created from the same row, so it stands. */
export async function tellOwed(
  writer: RowWriter,
  telling: readonly OwedNotice[],
  record: LedgerRecord | undefined,
): Promise<void> {
  const { coordinator, report, row, job, ask } = writer;
  const { notify } = job.spec;
  if (notify === undefined) return;
  for (const owed of telling) {
    if (owed.change === 'paused' && !(await wasPausedFor(writer, owed))) continue;
    if (owed.change === 'failed' && (await isKnownTrouble(writer, owed))) continue;
    const isOwn = record !== undefined && owed.of === row.run?.key;
    const known = isOwn ? record : await detailsOf(writer, owed);
    await tell(coordinator, report, ask, { notify, notice: endNotice(job.spec, owed, known) });
  }
}

/**
 * Whether the receivers know already that the job has no success. Only a job that has had none for longer than its
 * `alertAfter` needs a listing for that, at the beginning of an incident.
 */
async function isKnownTrouble({ job, row, ask }: RowWriter, { at }: OwedNotice): Promise<boolean> {
  const { name, notify, alertAfterMs } = job.spec;
  const since = row.lastGoodAt;
  if (notify === undefined || alertAfterMs === undefined || at - since <= alertAfterMs) return false;
  const own = (await listNotices(ask)).flatMap((one) => readListed(one) ?? []).filter((one) => one.job === name);
  return isToldAsOverdue(notify, own, since);
}

/** The record of a run whose holder died before its notice. Without it, the notice has fewer details. */
async function detailsOf({ job, ask }: RowWriter, { of }: OwedNotice): Promise<LedgerRecord | undefined> {
  const found = await ask((store, signal) => readUnlessForeign(store, job.spec.name, of, signal));
  return found === 'foreign' || found?.record.state !== 'final' ? undefined : found.record;
}

/** Whether this run's end has paused the job. It may have been paused before, or the control had no room. */
async function wasPausedFor({ job, ask }: RowWriter, { of }: OwedNotice): Promise<boolean> {
  const { name } = job.spec;
  const { control } = await ask((store, signal) => store.readControl(name, { signal }));
  if (control === undefined) return false;
  try {
    return isPausedFor(decodeControl(control.metadata), runIdOf(name, of));
  } catch (error) {
    if (error instanceof ForeignMetadataError) return false;
    throw error;
  }
}
