import type { EpochMs } from './brand';
import type { JobSpec } from './job';
import { isRequestId, recordKey } from './key';
import { firstOf, isInstant, isObject, isWhole, listText } from './metadata';
import { type Origin, readOrigin } from './origin';
import { type PastAttempt, readPast, storePast } from './past-attempt';

/** The most due times of one back-fill. */
export const BACKFILL_AT_MOST = 10_000;
/** A row that only skips due times is written after so many of them, so that no look repeats a long walk. */
const SKIPPED_AT_ONCE = 1_000;

export type BackfillOrder = 'oldest' | 'newest';

/** What people see of a back-fill. */
export const BACKFILL_STATES = ['active', 'paused', 'stopping', 'stopped', 'scheduleChanged', 'done'] as const;
export type BackfillState = (typeof BACKFILL_STATES)[number];

/** An operator's command to run past due times of a job again, one after another. Decision 079. */
export interface Backfill {
  /** The records of its runs have it in their keys, so that each due time runs at most once for it. */
  readonly id: string;
  /** Its oldest due time. */
  readonly from: EpochMs;
  /** Its newest due time. */
  readonly through: EpochMs;
  readonly order: BackfillOrder;
  /** Due times that have succeeded run too. */
  readonly includeSucceeded: boolean;
  /** The hash of the schedule that has these due times. With another schedule it is over. */
  readonly scheduleHash: string;
  readonly origin: Origin;
  /** When it was asked for. */
  readonly at: EpochMs;
  /** When it was stopped. */
  readonly stopped: EpochMs | undefined;
}

/** How far a back-fill is, as the row holds it. */
export interface BackfillProgress {
  readonly id: string;
  /** The last due time, in its order, that was claimed or skipped. Undefined: none yet. */
  readonly at: EpochMs | undefined;
  /** How many were claimed. */
  readonly ran: number;
  /** How many were skipped because they had succeeded. */
  readonly skipped: number;
  /** A run of it that waits for its next attempt while due times go first. */
  readonly aside: AsideRun | undefined;
}

/** A back-filled run between two attempts, whose row was needed by a due time. */
export interface AsideRun {
  readonly scheduledFor: EpochMs;
  readonly since: EpochMs;
  readonly attempt: number;
  readonly uncountedAttempts: number;
  readonly notBefore: EpochMs | undefined;
  /** Only the last attempts: the row has little room. */
  readonly past: readonly PastAttempt[];
}

/** How many attempts of a run the row keeps while it is aside. */
export const ASIDE_ATTEMPTS = 3;

/** What a process has read of the ledger for one back-fill. */
export interface BackfillLedger {
  /** The stretches of due times, ends included, whose records it has read. */
  readonly read: readonly { readonly from: EpochMs; readonly through: EpochMs }[];
  /** The due times that have succeeded, by the schedule or in another back-fill. */
  readonly succeeded: ReadonlySet<EpochMs>;
  /** The due times that have a final record of this back-fill. */
  readonly ended: ReadonlySet<EpochMs>;
  /** The due times that have an open record of this back-fill. */
  readonly open: ReadonlySet<EpochMs>;
}

/** What a back-fill does next. */
export type BackfillStep =
  /** Nothing is left of it. */
  | { readonly kind: 'over' }
  /** These due times were skipped, and nothing runs yet. */
  | { readonly kind: 'skipped'; readonly progress: BackfillProgress }
  /** The records of this due time must be read first. */
  | { readonly kind: 'unread'; readonly due: EpochMs }
  /** This due time runs. `isOpen`: an attempt of it may have begun. */
  | { readonly kind: 'run'; readonly due: EpochMs; readonly progress: BackfillProgress; readonly isOpen: boolean };

/** The key of the record of a back-filled due time: beside the record of the due time itself. Decision 080. */
export function backfillKey({ id }: Pick<Backfill, 'id'>, due: EpochMs): string {
  return recordKey(due, id);
}

/** The record's key of the run that is aside, if there is one. */
export function asideKey(progress: BackfillProgress | undefined): string | undefined {
  return progress?.aside && backfillKey(progress, progress.aside.scheduledFor);
}

/** The due time that follows `after` in the order of a back-fill; undefined at its end. */
export function nextOf(
  { timetable }: Pick<JobSpec, 'timetable'>,
  { from, through, order }: Pick<Backfill, 'from' | 'through' | 'order'>,
  after: EpochMs | undefined,
): EpochMs | undefined {
  const due =
    order === 'oldest'
      ? timetable.next(Math.max(from - 1, after ?? -Infinity))
      : timetable.previous(Math.min(through + 1, after ?? Infinity));
  return due === undefined || due < from || due > through ? undefined : due;
}

/** Whether a back-fill may still run something: it was not stopped, and its schedule is the job's. */
export function isActive(
  backfill: Backfill | undefined,
  { scheduleHash }: Pick<JobSpec, 'scheduleHash'>,
): backfill is Backfill {
  return backfill !== undefined && backfill.stopped === undefined && backfill.scheduleHash === scheduleHash;
}

/**
 * The next step of a back-fill. Its due times pass in order, and the row keeps the last one. A row that lacks it has
 * not begun, or was restored from before: the ledger then shows what has run.
 */
export function stepOf(
  job: Pick<JobSpec, 'timetable'>,
  backfill: Backfill,
  known: BackfillProgress | undefined,
  ledger: BackfillLedger | undefined,
): BackfillStep {
  const isKept = known?.id === backfill.id;
  let progress: BackfillProgress = isKept
    ? known
    : { id: backfill.id, at: undefined, ran: 0, skipped: 0, aside: undefined };
  const needsLedger = !isKept || !backfill.includeSucceeded;
  for (let skipped = 0; ; skipped += 1) {
    const due = nextOf(job, backfill, progress.at);
    if (due === undefined) return skipped === 0 ? { kind: 'over' } : { kind: 'skipped', progress };
    if (needsLedger && !isRead(ledger, due)) return { kind: 'unread', due };
    const hasRun = !isKept && ledger?.ended.has(due) === true;
    if (!hasRun && (backfill.includeSucceeded || ledger?.succeeded.has(due) !== true)) {
      const isOpen = ledger?.open.has(due) === true;
      return { kind: 'run', due, isOpen, progress: { ...progress, at: due, ran: progress.ran + 1 } };
    }
    if (skipped >= SKIPPED_AT_ONCE) return { kind: 'skipped', progress };
    progress = {
      ...progress,
      at: due,
      ran: progress.ran + (hasRun ? 1 : 0),
      skipped: progress.skipped + (hasRun ? 0 : 1),
    };
  }
}

function isRead(ledger: BackfillLedger | undefined, due: EpochMs): boolean {
  return ledger?.read.some(({ from, through }) => from <= due && due <= through) === true;
}

/** Reads the back-fill of a control leniently: one that cannot be read must not make its job unreadable. */
export function readBackfill(text: string | undefined): Backfill | undefined {
  const value = firstOf(text);
  if (value === undefined) return undefined;
  const { id, from, through, order, succeeded, hash, at, stopped } = value;
  const origin = readOrigin(value['origin']);
  if (!isRequestId(id) || !isInstant(from) || !isInstant(through) || !isInstant(at)) return undefined;
  if (order !== 'oldest' && order !== 'newest') return undefined;
  if (typeof hash !== 'string' || origin === undefined) return undefined;
  const times = { from, through, at, stopped: isInstant(stopped) ? stopped : undefined };
  return { id, ...times, order, includeSucceeded: succeeded === true, scheduleHash: hash, origin };
}

export function storeBackfill(backfill: Backfill | undefined): string | undefined {
  if (backfill === undefined) return undefined;
  const { id, from, through, order, includeSucceeded, scheduleHash: hash, origin, at, stopped } = backfill;
  const succeeded = includeSucceeded ? true : undefined;
  return listText([{ id, from, through, order, succeeded, hash, origin, at, stopped }]);
}

/** Reads the progress that a row holds. One that cannot be read counts as lost: the ledger has what ran. */
export function readProgress(text: string | undefined): BackfillProgress | undefined {
  const value = firstOf(text);
  if (value === undefined) return undefined;
  const { id, at, ran, skipped, aside } = value;
  if (!isRequestId(id) || !isWhole(ran) || !isWhole(skipped)) return undefined;
  return {
    id,
    at: isInstant(at) ? at : undefined,
    ran,
    skipped,
    aside: isObject(aside) ? readAside(aside) : undefined,
  };
}

function readAside({
  due,
  since,
  n,
  drained,
  notbefore,
  past,
}: Readonly<Record<string, unknown>>): AsideRun | undefined {
  if (!isInstant(due) || !isInstant(since) || !isWhole(n) || !isWhole(drained)) return undefined;
  const attempts = Array.isArray(past) ? past.filter(isObject).map(readPast) : [];
  return {
    scheduledFor: due,
    since,
    attempt: n,
    uncountedAttempts: drained,
    notBefore: isInstant(notbefore) ? notbefore : undefined,
    past: attempts.filter((attempt) => attempt !== undefined),
  };
}

export function storeProgress(progress: BackfillProgress | undefined): string | undefined {
  if (progress === undefined) return undefined;
  const { id, at, ran, skipped, aside } = progress;
  return listText([{ id, at, ran, skipped, aside: aside && storeAside(aside) }]);
}

function storeAside({
  scheduledFor: due,
  since,
  attempt: n,
  uncountedAttempts: drained,
  notBefore: notbefore,
  past,
}: AsideRun): unknown {
  return { due, since, n, drained, notbefore, past: past.map(storePast) };
}
