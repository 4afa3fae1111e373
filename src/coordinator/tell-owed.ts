import type { Millis } from '../core/brand';
import { decodeControl, isPausedFor } from '../core/control';
import { encodeDelivery, NOBODY } from '../core/delivery';
import { runIdOf } from '../core/key';
import { ifReadable } from '../core/metadata';
import { endNotice } from '../core/notice';
import { type Listed, toldAsOverdue } from '../core/notice-sweep';
import type { OwedNotice } from '../core/owed-notice';
import type { LedgerRecord } from '../core/record';
import type { Row } from '../core/row';
import { readUnlessForeign } from './ledger';
import { noticesOf } from './list-notices';
import type { RowWriter } from './row-writer';
import { tell } from './tell';

/** A sweep may see that a job is overdue while a run of it ends, and tell so a little later. */
const SOON_MS: Millis = 60_000;

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
    const isDoubtful = owed.change === 'failed' && mayBeOverdue(writer);
    if (isDoubtful && (await overdueNotice(writer)) !== undefined) continue;
    const isOwn = record !== undefined && owed.of === row.run?.key;
    const known = isOwn ? record : await detailsOf(writer, owed);
    const notice = endNotice(job.spec, owed, known);
    await tell(coordinator, report, ask, { notify, notice, ...(isDoubtful && { isNews: () => isNews(writer) }) });
  }
}

/**
 * Whether a sweep may have told, or may tell by now, that the job has no success. Only then does the beginning of an
 * incident need listings.
 */
function mayBeOverdue({ coordinator, job, row }: RowWriter): boolean {
  const { alertAfterMs } = job.spec;
  return alertAfterMs !== undefined && coordinator.serviceTime.now() - row.lastGoodAt > alertAfterMs - SOON_MS;
}

/** The notice by which the receivers know, or will know, that the job has no success. */
async function overdueNotice({ job, row, ask }: RowWriter): Promise<Listed | undefined> {
  const { name, notify } = job.spec;
  return notify && toldAsOverdue(notify, await noticesOf(name, ask), row.lastGoodAt);
}

/**
 * Whether no sweep has told, in the same moment, that the job is overdue. What no process has begun to send gives way,
 * by one write that also decides against the sweep. Decision 092.
 */
async function isNews(writer: RowWriter): Promise<boolean> {
  for (;;) {
    const overdue = await overdueNotice(writer);
    if (overdue === undefined) return true;
    const { id, etag, delivery } = overdue;
    if (delivery.by !== NOBODY) return false;
    const { ask, coordinator } = writer;
    const withdrawn = encodeDelivery({ ...delivery, to: [], doneAt: coordinator.serviceTime.now() });
    const answer = await ask((store, signal) => store.writeNotice(id, withdrawn, etag, { signal }));
    if (answer.kind === 'refused') continue;
    await ask((store, signal) => store.deleteNotice(id, { signal }));
    return true;
  }
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
  return ifReadable(() => isPausedFor(decodeControl(control.metadata), runIdOf(name, of))) ?? false;
}
