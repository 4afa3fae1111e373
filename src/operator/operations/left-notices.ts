import { asciiJson } from '../../core/metadata';
import { type Control, isPausedFor } from '../../core/control';
import { encodeDelivery, newDelivery, NOBODY } from '../../core/delivery';
import type { EpochMs, JobName } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { runIdOf } from '../../core/key';
import { endNotice, noticeId } from '../../core/notice';
import type { EndChange, OwedNotice } from '../../core/owed-notice';
import type { LedgerRecord } from '../../core/record';
import { readUnlessForeign } from '../../coordinator/ledger';
import type { LeaseStore } from '../../lease/store';

/** A notice that a dead holder has left, as a command reports it. */
export interface LeftNotice {
  readonly change: EndChange;
  readonly runId: string;
}

export function leftNotice(job: JobName, { change, of }: OwedNotice): LeftNotice {
  return { change, runId: runIdOf(job, of) };
}

/** The notices among these that do not exist. They lie in the account of their job. */
export async function missingNotices(
  store: LeaseStore,
  job: JobName,
  telling: readonly OwedNotice[],
  control: Control,
): Promise<readonly OwedNotice[]> {
  const home = store.home?.(job) ?? store;
  const missing: OwedNotice[] = [];
  for (const owed of telling) {
    if (owed.change === 'paused' && !isPausedFor(control, runIdOf(job, owed.of))) continue;
    if ((await home.readNotice(noticeId(job, owed.change, owed.of))) === undefined) missing.push(owed);
  }
  return missing;
}

/**
 * Creates notices for any deployment to send. They have no text of a handler: the setting that hides secrets is the
 * deployments', and a person's shell may lack it.
 */
export async function createNotices(
  store: LeaseStore,
  spec: JobSpec,
  owedNotices: readonly OwedNotice[],
  now: EpochMs,
): Promise<void> {
  const { notify, name } = spec;
  if (notify === undefined) return;
  for (const owed of owedNotices) {
    const found = await readUnlessForeign(store, name, owed.of);
    const record = found === 'foreign' || found?.record.state !== 'final' ? undefined : withoutErrors(found.record);
    const notice = endNotice(spec, owed, record);
    const metadata = encodeDelivery(newDelivery(notice, notify.to, NOBODY, now));
    await (store.home?.(name) ?? store).createNotice(notice.id, { body: asciiJson(notice), metadata });
  }
}

function withoutErrors(record: LedgerRecord): LedgerRecord {
  return { ...record, attempts: record.attempts.map((attempt) => ({ ...attempt, error: null })) };
}
