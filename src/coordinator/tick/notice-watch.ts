import type { Millis } from '../../core/brand';
import { controlOf } from '../../core/control';
import { type Delivery, SEND_WITHIN_MS, encodeDelivery, mayTakeOver } from '../../core/delivery';
import type { JobSpec, NotifySettings } from '../../core/job';
import { ForeignMetadataError, ifReadable } from '../../core/metadata';
import { noticeId, readNotice } from '../../core/notice';
import {
  type Listed,
  type SweptJob,
  isOvertaken,
  isStillNews,
  noticesOfSweep,
  outdated,
} from '../../core/notice-sweep';
import { ForeignRecordError } from '../../core/record';
import { checkAhead, decodeRow } from '../../core/row';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { type ListedNotice, type ListedRow, type Listing, type NoticeStore, StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { listNotices, noticesOf, readDelivery, readListed } from '../list-notices';
import { tell } from '../tell';
import { type OverdueWatch, overdueWatch } from './overdue';

/** Any listing of all jobs delays the next sweep, so one that comes a little early must not be left out. */
const SWEEP_SHARE = 0.75;
/** The most notices that one sweep takes over. A receiver that was away gets the others with the next ones. */
const TAKEN_AT_ONCE = 200;
const DELETED_AT_ONCE = 50;
/** Begins the names of blobs that switch receivers off. No job has such a name. */
const OFF_PREFIX = '_off_';
const OFF_FOR_MS: Millis = 7 * 86_400_000;

/** Creates the notices of changes that no instance claims, and sends those that others have left. */
export interface NoticeWatch {
  /**
   * Called with each sweep, once the overdue jobs are known.
   *
   * @returns the work in progress; undefined if nothing notifies, or this came too soon. It never rejects
   */
  check(listing: Listing, report: Report): Promise<void> | undefined;
}

interface Notifying {
  readonly spec: JobSpec;
  readonly notify: NotifySettings;
}

/** The watches of sweeps. */
export function watches(coordinator: Coordinator): { readonly overdue: OverdueWatch; readonly notices: NoticeWatch } {
  const overdue = overdueWatch(coordinator);
  return { overdue, notices: noticeWatch(coordinator, overdue) };
}

/** Each sweep makes one more listing, and only if a job notifies. */
function noticeWatch(coordinator: Coordinator, overdue: OverdueWatch): NoticeWatch {
  const { clock, settings, serviceTime } = coordinator;
  const notifying = [...coordinator.jobs.values()].flatMap(({ spec }): readonly Notifying[] =>
    spec.notify === undefined ? [] : [{ spec, notify: spec.notify }],
  );
  let checkedAt: Millis | undefined;

  return {
    check(listing, report) {
      const now = clock.monotonic();
      const isEarly = checkedAt !== undefined && now - checkedAt < settings.sweepIntervalMs * SWEEP_SHARE;
      if (notifying.length === 0 || isEarly || coordinator.stopping) return undefined;
      checkedAt = now;
      return sweep(listing, report).catch((error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        report.log('warn', 'the notices could not be checked:', error);
      });
    },
  };

  function ask<T>(call: (store: NoticeStore, signal: AbortSignal) => Promise<T>): Promise<T> {
    return within(clock, CALL_LIMIT_MS, (signal) => call(coordinator.store, signal));
  }

  async function sweep(listing: Listing, report: Report): Promise<void> {
    const listed = await listAll();
    const byJob = Map.groupBy(listed, ({ job }) => job);
    for (const { spec, notify } of notifying) {
      const job = sweptJob(listing, spec, notify);
      if (job === undefined) continue;
      for (const notice of noticesOfSweep(job, byJob.get(spec.name) ?? [], serviceTime.now())) {
        const isNews = async (): Promise<boolean> => isStillNews(job, notice, await noticesOf(spec.name, ask));
        await tell(coordinator, report, ask, { notify, notice, ...(notice.change === 'overdue' && { isNews }) });
      }
    }
    await takeOver(listed, report);
    const old = outdated(listed, serviceTime.now()).filter(
      (one) => !isOwed(listing, one) && !isRemindedOf(listing, one),
    );
    for (const { id } of old.slice(0, DELETED_AT_ONCE)) {
      await ask((store, signal) => store.deleteNotice(id, { signal }));
    }
  }

  async function listAll(): Promise<readonly Listed[]> {
    const found = await listNotices(ask);
    await heedOff(found);
    return found.flatMap((one) => readListed(one) ?? []);
  }

  /** A receiver that was switched off long ago gets another chance: only its owner knows whether it is back. */
  async function heedOff(found: readonly ListedNotice[]): Promise<void> {
    const off = found.filter(({ id }) => id.startsWith(OFF_PREFIX));
    const since = (one: ListedNotice): number => readDelivery(one.metadata)?.at ?? 0;
    const isOver = (one: ListedNotice): boolean => serviceTime.now() - since(one) > OFF_FOR_MS;
    coordinator.outlet?.sawOff(off.flatMap((one) => (isOver(one) ? [] : [one.id])));
    for (const { id } of off.filter(isOver)) await ask((store, signal) => store.deleteNotice(id, { signal }));
  }

  /** Reminders of a failure need its beginning. Whether a job of another file has reminders is not known. */
  function isRemindedOf({ jobs }: Listing, { job, change }: Listed): boolean {
    const row = jobs.get(job)?.row;
    const spec = coordinator.jobs.get(job)?.spec;
    if (change !== 'failed' || row === undefined) return false;
    return (spec === undefined || spec.notify?.remindMs !== undefined) && isFailing(row);
  }

  /** Undefined if the job has no row yet, was forgotten, or follows a newer file, whose deployments watch it. */
  function sweptJob({ jobs }: Listing, spec: JobSpec, notify: NotifySettings): SweptJob | undefined {
    const seen = jobs.get(spec.name);
    if (seen?.row === undefined) return undefined;
    const { name, description, enabled } = spec;
    const job = { name, description, enabled, notify };
    try {
      const row = decodeRow(seen.row.metadata);
      checkAhead(row, seen.date);
      const isOthers = row.revision > coordinator.revision && row.scheduleHash !== spec.scheduleHash;
      if (row.forgotten !== undefined || isOthers) return undefined;
      const control = controlOf(seen.control);
      return { ...job, state: { kind: 'read', row, control, overdue: overdue.punctuality(name), listedAt: seen.date } };
    } catch (error) {
      if (!(error instanceof ForeignMetadataError)) throw error;
      const of = `${seen.row.etag}-${seen.control?.etag ?? ''}`;
      return { ...job, state: { kind: 'unreadable', of, reason: error.message } };
    }
  }

  /** Sends what its own process has left: it died, or a try of it has failed. One write decides who does. */
  async function takeOver(listed: readonly Listed[], report: Report): Promise<void> {
    const { outlet } = coordinator;
    if (outlet === undefined) return;
    const now = serviceTime.now();
    const left = listed.filter(({ delivery }) => mayTakeOver(knownPart(delivery, outlet.receivers), now));
    const byJob = Map.groupBy(listed, ({ job }) => job);
    for (const one of left.slice(0, TAKEN_AT_ONCE)) {
      const { id, etag, delivery } = one;
      if (coordinator.stopping) return;
      const mine = { ...delivery, by: outlet.instance, until: now + SEND_WITHIN_MS };
      const taken = await ask((store, signal) => store.writeNotice(id, encodeDelivery(mine), etag, { signal }));
      if (taken.kind === 'refused') continue;
      const notice = await noticeOf(id, report);
      const isOver = isOvertaken(one, byJob.get(one.job) ?? []);
      if (notice !== undefined) void outlet.send({ notice, delivery: mine, etag: taken.etag, isOver }, report);
    }
  }

  async function noticeOf(id: string, report: Report): Promise<ReturnType<typeof readNotice>> {
    try {
      const body = await ask((store, signal) => store.readNotice(id, { signal }));
      const notice = body === undefined ? undefined : readNotice(body);
      if (body !== undefined && notice === undefined) report.log('warn', `notice ${id} cannot be read`);
      return notice;
    } catch (error) {
      if (!(error instanceof ForeignRecordError)) throw error;
      report.log('warn', `notice ${id} cannot be read:`, error);
      return undefined;
    }
  }
}

/**
 * Whether the job's row still names a notice. If its holder died, or a hand-over fails, the next tick creates what the
 * row names: one that was deleted would be told again.
 */
function isOwed({ jobs }: Listing, { id, job }: Listed): boolean {
  const row = jobs.get(job)?.row;
  if (row === undefined) return false;
  const telling = ifReadable(() => decodeRow(row.metadata).telling);
  // Once the row has been repaired, it may name it again.
  return telling === undefined || telling.some(({ change, of }) => noticeId(job, change, of) === id);
}

/** Whether the last run has failed of a job that a file has. */
function isFailing({ metadata }: ListedRow): boolean {
  const row = ifReadable(() => decodeRow(metadata));
  return row === undefined || (row.failures > 0 && row.forgotten === undefined && row.leftSince === undefined);
}

/** The receivers whose addresses this process has. Others are left to deployments that have theirs. */
function knownPart(delivery: Delivery, receivers: ReadonlySet<string>): Delivery {
  return { ...delivery, to: delivery.to.filter(({ name }) => receivers.has(name)) };
}
