import type { JobName, Millis } from '../core/brand';
import { decodeControl, isPausedFor } from '../core/control';
import { encodeDelivery, newDelivery, NOBODY, SEND_WITHIN_MS, type Delivery, decodeDelivery } from '../core/delivery';
import type { JobSpec, NotifySettings } from '../core/job';
import { runIdOf } from '../core/key';
import { asciiJson, ifReadable } from '../core/metadata';
import { type Notice, endNotice } from '../core/notice';
import { type Listed, listedNotice, toldAsOverdue } from '../core/notice-sweep';
import type { OwedNotice } from '../core/owed-notice';
import type { LedgerRecord } from '../core/record';
import { redactNothing } from '../core/redact';
import type { Row } from '../core/row';
import { collected, pagesOf } from '../lease/pages';
import type { NoticeStore, ListedNotice } from '../lease/store';
import type { Coordinator, Report } from './coordinator';
import { readUnlessForeign } from './ledger';
import type { PingKind } from './outlet';
import type { RowWriter } from './row-writer';

/** The longest error of a handler in a notice. */
const ERROR_LENGTH = 4_000;

type Sending = Pick<Coordinator, 'outlet' | 'sends' | 'clock'>;

type Ask = <T>(call: (store: NoticeStore, signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Telling {
  readonly notify: NotifySettings;
  readonly notice: Notice;
  /**
   * Asked once the notice exists, and before any process may send it. If false, it is deleted. Left out: it is news.
   */
  readonly isNews?: () => Promise<boolean>;
}

/**
 * Creates a notice, unless it exists, and sends it if it is ours. It returns before it is sent: if this process dies, a
 * sweep finds it. Decision 093.
 *
 * @throws StoreError
 */
export async function tell(
  coordinator: Coordinator,
  report: Report,
  ask: Ask,
  { notify, notice, isNews }: Telling,
): Promise<void> {
  const { outlet, serviceTime } = coordinator;
  const hidden = redacted(coordinator, notice);
  const now = serviceTime.now();
  const delivery =
    outlet === undefined
      ? newDelivery(hidden, notify.to, NOBODY, now)
      : newDelivery(hidden, notify.to, outlet.instance, now + SEND_WITHIN_MS);
  const first = isNews === undefined ? delivery : newDelivery(hidden, notify.to, NOBODY, now + SEND_WITHIN_MS);
  const stored = { body: asciiJson(hidden), metadata: encodeDelivery(first) };
  const created = await ask((store, signal) => store.createNotice(hidden.id, stored, { signal }));
  if (created.kind === 'exists') return;
  let { etag } = created;
  if (isNews !== undefined) {
    if (!(await isNews())) {
      await ask((store, signal) => store.deleteNotice(hidden.id, { signal }));
      return;
    }
    const metadata = encodeDelivery(delivery);
    const kept = await ask((store, signal) => store.writeNotice(hidden.id, metadata, etag, { signal }));
    if (kept.kind === 'refused') return;
    etag = kept.etag;
  }
  const { change, job, at } = hidden;
  report.event({ event: 'noticed', at, ...(job === '' ? {} : { job }), reason: change });
  if (outlet !== undefined) sending(coordinator, job, outlet.send({ notice: hidden, delivery, etag }, report));
}

/** Calls the job's address at a service that watches it. It neither fails nor delays the run. */
export function ping(coordinator: Sending, spec: Pick<JobSpec, 'name' | 'ping'>, kind: PingKind, report: Report): void {
  const { outlet } = coordinator;
  if (spec.ping !== undefined && outlet !== undefined)
    sending(coordinator, spec.name, outlet.ping(spec.ping, kind, report));
}

/** Keeps count of what is being sent, so that an invocation can wait for a moment. */
function sending({ sends }: Sending, job: JobName | '', done: Promise<void>): void {
  sends.set(done, job);
  void done.finally(() => sends.delete(done));
}

/** Waits until what is being sent of this job is out, and never for longer than this. */
export async function untilSent({ sends, clock }: Sending, job: JobName, atMostMs: Millis): Promise<void> {
  const own = [...sends].flatMap(([done, whose]) => (whose === job ? [done] : []));
  if (own.length === 0) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(atMostMs, resolve);
    void Promise.allSettled(own).then(() => {
      cancel();
      resolve();
    });
  });
}

/** A handler's error may have secrets. */
function redacted({ redact = redactNothing }: Coordinator, notice: Notice): Notice {
  if (notice.error === undefined) return notice;
  const [error = ''] = redact([notice.error], ERROR_LENGTH);
  return { ...notice, error };
}

const NOTICES_A_PAGE = 500;

/** All stored notices, and what else lies among them: mostly one call. */
export async function listNotices(
  ask: <T>(call: (store: NoticeStore, signal: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<readonly ListedNotice[]> {
  const pages = pagesOf((from) =>
    ask((store, signal) => store.listNotices({ limit: NOTICES_A_PAGE, ...from }, { signal })),
  );
  return (await collected(pages)).flatMap(({ notices }) => notices);
}

export async function noticesOf(job: JobName, ask: Parameters<typeof listNotices>[0]): Promise<readonly Listed[]> {
  const all = await listNotices(ask);
  return all.flatMap((one) => readListed(one) ?? []).filter((one) => one.job === job);
}

/** Undefined: it is not a notice of a job. */
export function readListed({ id, etag, metadata }: ListedNotice): Listed | undefined {
  const delivery = readDelivery(metadata);
  return delivery && listedNotice(id, etag, delivery);
}

export function readDelivery(metadata: ListedNotice['metadata']): Delivery | undefined {
  // If something else wrote the blob, nothing depends on it.
  return ifReadable(() => decodeDelivery(metadata));
}

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
