import type { Millis, EpochMs, JobName } from '../../core/brand';
import { controlOf, type Control } from '../../core/control';
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
  type Punctuality,
} from '../../core/notice-sweep';
import { countsFrom, overdueBy } from '../../core/overdue';
import { ForeignRecordError } from '../../core/record';
import { checkAhead, decodeRow, type Row } from '../../core/row';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { type ListedNotice, type ListedRow, type Listing, type NoticeStore, StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { createGate } from '../gate';
import { lastSuccess } from '../ledger';
import { tell, listNotices, noticesOf, readDelivery, readListed } from '../tell';

/** Any listing of all jobs delays the next sweep, so one that comes a little early must not be left out. */
const SWEEP_SHARE = 0.75;
/** The most notices that one sweep takes over. A receiver that was away gets the others with the next ones. */
const TAKEN_AT_ONCE = 200;
const DELETED_AT_ONCE = 50;
/** Begins the names of blobs that switch receivers off. No job has such a name. */
const OFF_PREFIX = '_off_';
const OFF_FOR_MS: Millis = 7 * 86_400_000;

interface Notifying {
  readonly spec: JobSpec;
  readonly notify: NotifySettings;
}

/** Whether it is time for the work of a sweep, which is done once in a sweep interval. */
function sweepTurns({ clock, settings }: Coordinator): () => boolean {
  let lastAt: Millis = -Infinity;
  return () => {
    const now = clock.monotonic();
    if (now - lastAt < settings.sweepIntervalMs * SWEEP_SHARE) return false;
    lastAt = now;
    return true;
  };
}

/**
 * Creates the notices of changes that no instance claims, and sends those that others have left. Each sweep makes one
 * more listing, and only if a job notifies.
 */
export function noticeWatch(coordinator: Coordinator, overdue: OverdueWatch) {
  const { clock, serviceTime } = coordinator;
  const notifying = [...coordinator.jobs.values()].flatMap(({ spec }): readonly Notifying[] =>
    spec.notify === undefined ? [] : [{ spec, notify: spec.notify }],
  );
  const isTurn = sweepTurns(coordinator);

  return {
    /**
     * Called with each sweep, once the overdue jobs are known.
     *
     * @returns the work in progress; undefined if nothing notifies, or this came too soon. It never rejects
     */
    check(listing: Listing, report: Report): Promise<void> | undefined {
      if (notifying.length === 0 || coordinator.stopping || !isTurn()) return undefined;
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
    const found = await listNotices(ask);
    await heedOff(found);
    const listed = found.flatMap((one) => readListed(one) ?? []);
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

/** Few at a time, because claims are more urgent. */
const READS_AT_ONCE = 4;
/** What a listing of before this has shown may be over: its process has stood still since. */
const OLD_MS: Millis = 60_000;
/** How many pages of the ledger a process reads when it first sees a job. Later it reads one. */
const PAGES_AT_FIRST = 4;

/** The knowledge of this process about one job with `alertAfter`. */
interface Known {
  /** When the job last succeeded, or was excused, or was first seen. */
  readonly from: EpochMs;
  /** The row at the last read of the ledger. While the row is the same, no further run has ended. */
  readonly version: string;
}

interface Seen {
  readonly spec: JobSpec;
  readonly row: Row;
  readonly control: Control;
  readonly version: string;
  /** Whether its lease is held. */
  readonly isHeld: boolean;
}

type OverdueWatch = ReturnType<typeof overdueWatch>;

/**
 * Watches the jobs that have `alertAfter`. A row gets a success only with writes that are made anyway, so it may be
 * behind. If by its row a job may be overdue, the ledger decides: that takes one page of summaries, once for each
 * version of the row.
 */
export function overdueWatch(coordinator: Coordinator) {
  const { clock, serviceTime, revision } = coordinator;
  const alerted = [...coordinator.jobs.values()].filter(({ spec }) => spec.alertAfterMs !== undefined);
  const known = new Map<JobName, Known>();
  /** Saves decoding rows that have not changed. */
  const read = new Map<JobName, Seen>();
  const gate = createGate(READS_AT_ONCE);
  const verdicts = new Map<JobName, Punctuality>();
  const isTurn = sweepTurns(coordinator);

  return {
    /**
     * Reports overdue jobs, once each sweep interval.
     *
     * @returns the work in progress, if the ledger must be read; never rejects
     */
    check(listing: Listing, report: Report): Promise<void> | undefined {
      if (alerted.length === 0 || !isTurn()) return undefined;
      const unsure = alerted.flatMap(({ spec }) => {
        const seen = seenIn(listing, spec);
        const isUnsure = seen !== undefined && mayBeOverdue(seen);
        verdicts.set(spec.name, seen === undefined || isUnsure ? 'unknown' : 'punctual');
        return isUnsure ? [seen] : [];
      });
      // A held lease may be a new one: a run may have ended in between without a change of the row.
      const { date } = listing;
      const readings = unsure.flatMap((seen) =>
        !seen.isHeld && tellKnown(seen, date, report) ? [] : [gate(() => readLedger(seen, date, report))],
      );
      return readings.length === 0 ? undefined : Promise.all(readings).then(() => undefined);
    },
    /** Whether a job is overdue, as of the last check. A job without `alertAfter` never is. */
    punctuality(job: JobName): Punctuality {
      const { alertAfterMs } = coordinator.jobs.get(job)?.spec ?? {};
      return alertAfterMs === undefined ? 'punctual' : (verdicts.get(job) ?? 'unknown');
    },
    /** Adds the last success that this process has seen to the row of a claim. */
    told(job: JobName, row: Row): Row {
      const from = known.get(job)?.from;
      return from === undefined || from <= row.lastGoodAt ? row : { ...row, lastGoodAt: from };
    },
  };

  /** Undefined if the row is not ours, is forgotten, or follows a newer file, whose deployments report on it. */
  function seenIn({ jobs }: Listing, spec: JobSpec): Seen | undefined {
    const { row: listed, control } = jobs.get(spec.name) ?? {};
    if (listed === undefined) return undefined;
    const version = `${listed.etag} ${listed.lease} ${control?.etag ?? ''}`;
    const before = read.get(spec.name);
    if (before?.version === version) return before;
    // The tick has reported what cannot be read.
    return ifReadable(() => {
      const row = decodeRow(listed.metadata);
      if (row.forgotten !== undefined || (row.revision > revision && row.scheduleHash !== spec.scheduleHash)) return;
      const wanted = controlOf(control);
      const seen = { spec, row, control: wanted, version, isHeld: listed.lease === 'leased' };
      read.set(spec.name, seen);
      return seen;
    });
  }

  function mayBeOverdue({ spec, row, control }: Seen): boolean {
    const from = Math.max(row.lastGoodAt, known.get(spec.name)?.from ?? 0);
    return overdueBy(spec, control, from, serviceTime.now()) !== undefined;
  }

  /** Returns whether the known facts decide. */
  function tellKnown({ spec, control, version }: Seen, listedAt: EpochMs, report: Report): boolean {
    const current = known.get(spec.name);
    if (current?.version !== version) return false;
    const at = serviceTime.now();
    if (at - listedAt > OLD_MS) return true;
    const ageMs = overdueBy(spec, control, current.from, at);
    verdicts.set(spec.name, ageMs === undefined ? 'punctual' : { since: at - ageMs, ageMs });
    if (ageMs !== undefined) report.event({ event: 'overdue', at, job: spec.name, ageMs });
    return true;
  }

  async function readLedger(seen: Seen, listedAt: EpochMs, report: Report): Promise<void> {
    if (coordinator.stopping) return;
    const { spec, row, version } = seen;
    const before = known.get(spec.name);
    const since = Math.max(row.lastGoodAt, before?.from ?? 0);
    try {
      const request = { pages: before === undefined ? PAGES_AT_FIRST : 1, since };
      const found = await lastSuccess(coordinator.store, spec.name, request, (call) =>
        within(clock, CALL_LIMIT_MS, call),
      );
      known.set(spec.name, { from: countsFrom(row, found, before?.from), version });
      tellKnown(seen, listedAt, report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.log('warn', `job "${spec.name}": the check for an overdue job failed:`, error);
    }
  }
}
