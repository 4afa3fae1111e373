import type { EpochMs, ETag, JobName, Millis } from './brand';
import { type Control, currentPause } from './control';
import type { Delivery } from './delivery';
import { isInForce } from './incident';
import type { NoticeTopic, NotifySettings } from './job';
import { BEGINNINGS, ENDINGS, type Notice, type Trouble, parseNoticeId, seenNotice } from './notice';
import type { Row } from './row';

const DAY_MS: Millis = 86_400_000;
/** A delivered notice stays for this long, so that it is not created a second time. */
const KEPT_MS: Millis = DAY_MS;
/** The beginning of a trouble stays until the trouble is over, and at most for this long. */
const BEGINNING_KEPT_MS: Millis = 30 * DAY_MS;
/** The clocks of a process that lists and of one that ends a run differ by less than this. */
const CLOCKS_APART_MS: Millis = 10_000;

/** A notice as a listing shows it. */
export interface Listed {
  readonly id: string;
  readonly etag: ETag;
  readonly job: JobName;
  readonly change: string;
  readonly delivery: Delivery;
}

/** Whether a job is overdue. `unknown`: the ledger has not been read yet. */
export type Punctuality = { readonly since: EpochMs; readonly ageMs: Millis } | 'punctual' | 'unknown';

/** A job that notifies, as a sweep sees it. */
export interface SweptJob {
  readonly name: JobName;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly notify: NotifySettings;
  readonly state:
    | {
        readonly kind: 'read';
        readonly row: Row;
        readonly control: Control;
        readonly overdue: Punctuality;
        /** The date of the listing that shows the row: a later notice may tell of a run that has ended since. */
        readonly listedAt: EpochMs;
      }
    /** Its row or control is not cronlease's. `of` names that version of it. */
    | { readonly kind: 'unreadable'; readonly of: string; readonly reason: string };
}

type Troubles = Readonly<Partial<Record<string, readonly Trouble[]>>>;

/** The troubles that a notice begins, or ends. */
function troublesIn(changes: Troubles, change: string): readonly Trouble[] {
  return Object.hasOwn(changes, change) ? (changes[change] ?? []) : [];
}

/** The notices of these changes, in order of time. */
function ofChanges(listed: readonly Listed[], changes: Troubles, trouble: Trouble): Listed[] {
  return listed
    .filter(({ change }) => troublesIn(changes, change).includes(trouble))
    .toSorted((a, b) => a.delivery.at - b.delivery.at);
}

/** The last beginning of a trouble, if no end of it has been told since. */
function lasting(own: readonly Listed[], trouble: Trouble): Listed | undefined {
  const begun = ofChanges(own, BEGINNINGS, trouble).at(-1);
  const ended = ofChanges(own, ENDINGS, trouble).at(-1);
  return begun !== undefined && (ended === undefined || ended.delivery.at < begun.delivery.at) ? begun : undefined;
}

/** The part of a beginning's id that names the change. */
function nameOf({ id, job, change }: Listed): string {
  return id.slice(`${job}_${change}_`.length);
}

/**
 * The notices that a sweep calls for: troubles without a claim that began or ended, and reminders. Those that are
 * listed already are left out; of several deployments that see the same, one creates it. Decision 092.
 *
 * @param own the listed notices of this job
 */
export function noticesOfSweep(job: SweptJob, own: readonly Listed[], now: EpochMs): readonly Notice[] {
  const wanted = [...unreadableNotices(job, own, now), ...overdueNotices(job, own, now), ...reminders(job, own, now)];
  const known = new Set(own.map(({ id }) => id));
  return wanted.filter(({ id }) => !known.has(id));
}

function isWanted({ notify }: SweptJob, topic: NoticeTopic): boolean {
  return notify.on.includes(topic);
}

function unreadableNotices(job: SweptJob, own: readonly Listed[], now: EpochMs): readonly Notice[] {
  if (!isWanted(job, 'unreadable')) return [];
  const begun = lasting(own, 'unreadable');
  if (job.state.kind === 'unreadable') {
    // Another foreign write is not another trouble.
    if (begun !== undefined) return [];
    return [seenNotice(job, 'unreadable', job.state.of, { at: now, reason: job.state.reason })];
  }
  return begun === undefined ? [] : [seenNotice(job, 'restored', nameOf(begun), { at: now, since: begun.delivery.at })];
}

function overdueNotices(job: SweptJob, own: readonly Listed[], now: EpochMs): readonly Notice[] {
  if (!isWanted(job, 'overdue') || job.state.kind !== 'read') return [];
  const { row, overdue, control } = job.state;
  const begun = lasting(own, 'overdue');
  if (overdue === 'unknown') return [];
  if (overdue !== 'punctual') {
    return begun === undefined && !isToldAsFailing(job, own, overdue.since) && !isOver(row, own, overdue.since)
      ? [seenNotice(job, 'overdue', String(overdue.since), { at: now, since: overdue.since })]
      : [];
  }
  // A pause hides that the job is overdue, and does not end it.
  if (begun === undefined || currentPause(control, now) !== undefined || !job.enabled) return [];
  // The trouble is not over, or its end is told by the run that ended it.
  const isRecovering = row.telling.some(({ change, at }) => change === 'recovered' && at >= begun.delivery.at);
  if (isRecovering || isFailing(job, row)) return [];
  return [seenNotice(job, 'punctual', nameOf(begun), { at: now, since: begun.delivery.at })];
}

function isFailing(job: SweptJob, row: Row): boolean {
  return isWanted(job, 'failure') && row.failures >= job.notify.after;
}

/** Whether a later success than the one by which the job is overdue is told or owed: its run knew more. */
function isOver({ telling }: Row, own: readonly Listed[], since: EpochMs): boolean {
  const told = own.map(({ change, delivery: { at } }) => ({ change, at }));
  return [...telling, ...told].some(({ change, at }) => change === 'recovered' && at > since + CLOCKS_APART_MS);
}

/**
 * Whether all receivers know of failures since the last success, and will know of their end. That the job is overdue,
 * too, is then no other trouble.
 *
 * @param since when the job last succeeded
 */
function isToldAsFailing(job: SweptJob, own: readonly Listed[], since: EpochMs): boolean {
  const { notify, state } = job;
  if (state.kind !== 'read' || !isWanted(job, 'failure') || !isWanted(job, 'recovery')) return false;
  const begun = lasting(own, 'failure');
  const isLater = begun !== undefined && begun.delivery.at > state.listedAt - CLOCKS_APART_MS;
  return (isFailing(job, state.row) || isLater) && isToldToAll(begun, notify, since);
}

/**
 * Whether a created notice that a job is overdue is still news, which no process has begun to send. The run that fails
 * in the same moment looks for it after its own notice, so that one of them sees the other. Decision 092.
 *
 * @param own the notices of this job, listed after the notice was created
 */
export function isStillNews(job: SweptJob, { change, id, at }: Notice, own: readonly Listed[]): boolean {
  const others = own.filter((one) => one.change !== change);
  return noticesOfSweep(job, others, at).some((one) => one.id === id);
}

/**
 * The notice by which all receivers know that the job is overdue: that its runs fail, too, is then no other trouble. Its
 * next success ends both.
 *
 * @param since when the job last succeeded, as far as that is known
 */
export function toldAsOverdue(notify: NotifySettings, own: readonly Listed[], since: EpochMs): Listed | undefined {
  const begun = notify.on.includes('overdue') ? lasting(own, 'overdue') : undefined;
  return isToldToAll(begun, notify, since) ? begun : undefined;
}

function isToldToAll(begun: Listed | undefined, { to }: NotifySettings, since: EpochMs): boolean {
  if (begun === undefined || begun.delivery.at < since) return false;
  return to.every((receiver) => begun.delivery.to.some(({ name, end }) => name === receiver && end !== 'givenUp'));
}

/** One reminder for each period since the beginning was told. Periods that no sweep saw are left out. */
function reminders(job: SweptJob, own: readonly Listed[], now: EpochMs): readonly Notice[] {
  const { notify, state } = job;
  const { remindMs } = notify;
  if (remindMs === undefined || state.kind !== 'read' || !job.enabled) return [];
  if (isSilenced(state, now)) return [];
  const of = (trouble: Trouble, details: Partial<Notice>): readonly Notice[] => {
    const begun = lasting(own, trouble);
    const count = begun === undefined ? 0 : Math.floor((now - begun.delivery.at) / remindMs);
    if (begun === undefined || count < 1) return [];
    const name = `${nameOf(begun)}-${trouble}-${String(count)}`;
    return [seenNotice(job, 'reminder', name, { at: now, trouble, count, since: begun.delivery.at, ...details })];
  };
  const { row, overdue } = state;
  // One trouble, one reminder.
  if (isFailing(job, row) && lasting(own, 'failure') !== undefined) return of('failure', { failures: row.failures });
  return isWanted(job, 'overdue') && overdue !== 'unknown' && overdue !== 'punctual' ? of('overdue', {}) : [];
}

/** Someone looks after the job: the incident is acknowledged, or a person has paused the job. */
function isSilenced({ row, control }: { readonly row: Row; readonly control: Control }, now: EpochMs): boolean {
  const { acknowledgement } = control;
  const pause = currentPause(control, now);
  return (
    (acknowledgement !== undefined && isInForce(acknowledgement, row, now)) ||
    (pause !== undefined && pause.by !== 'cronlease')
  );
}

/** Notices no longer needed. A beginning goes before its end, or a sweep would tell the end again. */
export function outdated(listed: readonly Listed[], now: EpochMs): readonly Listed[] {
  const byJob = Map.groupBy(listed, ({ job }) => job);
  return [...byJob.values()].flatMap((own) => own.filter((one) => isOutdated(one, own, now)));
}

function isOutdated({ change, delivery }: Listed, own: readonly Listed[], now: EpochMs): boolean {
  const { doneAt, at } = delivery;
  // Its receiver is not known: it cannot be sent.
  if (doneAt === undefined) return now - at > BEGINNING_KEPT_MS;
  if (now - doneAt < KEPT_MS) return false;
  const [begins] = troublesIn(BEGINNINGS, change);
  if (begins !== undefined) {
    const ends = ofChanges(own, ENDINGS, begins).find((end) => end.delivery.at >= at);
    return now - doneAt > BEGINNING_KEPT_MS || (ends?.delivery.doneAt ?? now) < now - KEPT_MS;
  }
  return !troublesIn(ENDINGS, change).some((ended) =>
    ofChanges(own, BEGINNINGS, ended).some((begun) => begun.delivery.at <= at),
  );
}

const ENDS_OF_RUNS = ['recovered', 'punctual'];

/** What ends the trouble of a notice, by its change. */
const ENDED_BY: Readonly<Partial<Record<string, readonly string[]>>> = {
  failed: ENDS_OF_RUNS,
  paused: ENDS_OF_RUNS,
  overdue: ENDS_OF_RUNS,
  reminder: ENDS_OF_RUNS,
  unreadable: ['restored'],
};

/** Whether a later notice tells that the trouble of this one is over. */
export function isOvertaken({ change, delivery }: Listed, own: readonly Listed[]): boolean {
  const ends = Object.hasOwn(ENDED_BY, change) ? (ENDED_BY[change] ?? []) : [];
  return own.some((other) => ends.includes(other.change) && other.delivery.at >= delivery.at);
}

/** A notice of a listing; undefined if its id is not a notice's of a job. */
export function listedNotice(id: string, etag: ETag, delivery: Delivery): Listed | undefined {
  const parts = parseNoticeId(id);
  return parts && { id, etag, ...parts, delivery };
}
