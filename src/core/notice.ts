import type { EpochMs, JobName } from './brand';
import { given } from './given';
import type { NoticeTopic, NotifySettings } from './job';
import { parseRecordKey, runIdOf } from './key';
import { isInstant, isObject, parsedJson } from './metadata';
import { type ClaimedOutcome, type Reason, hasRun } from './outcome';
import type { EndChange, OwedNotice } from './owed-notice';
import type { Recent } from './recent';
import type { LedgerRecord } from './record';
import { errorText } from './recorded-error';
import type { Row } from './row';
import { failuresAfter } from './run';
import { brief } from './text';

/** The changes that sweeps see, if no instance holds a claim. */
export type SeenChange = 'overdue' | 'punctual' | 'unreadable' | 'restored' | 'reminder';

/** What a notice is about. `test`: a person asked for it. `digest`: several notices in one. */
export type HealthChange = EndChange | SeenChange | 'test' | 'digest';

/** The trouble that a change begins, repeats or ends. */
export type Trouble = 'failure' | 'overdue' | 'unreadable';

/** Changes that begin a trouble, and those that end it. A success ends the failures, and the job is not overdue. */
export const BEGINNINGS = { failed: ['failure'], overdue: ['overdue'], unreadable: ['unreadable'] } as const;
export const ENDINGS = { recovered: ['failure', 'overdue'], punctual: ['overdue'], restored: ['unreadable'] } as const;

/** One notice, as it is stored until it is delivered, and as formats show it. */
export interface Notice {
  /** The same for every sender and every try. It has no dot: receivers sign and compare it. */
  readonly id: string;
  readonly change: HealthChange;
  /** Empty for a digest and a test. */
  readonly job: JobName | '';
  /** When the state changed. */
  readonly at: EpochMs;
  /** The trouble that a reminder repeats. */
  readonly trouble?: Trouble;
  readonly description?: string;
  readonly runId?: string;
  /** Of the run, or of an `overdue` job: since when it has had no success. */
  readonly since?: EpochMs;
  readonly outcome?: string;
  readonly reason?: string;
  readonly error?: string;
  readonly attempts?: number;
  readonly failures?: number;
  readonly skipped?: number;
  /** The number of a reminder, from 1. */
  readonly count?: number;
  /** The notices of a digest, and how many it stands for. */
  readonly notices?: readonly Notice[];
  readonly of?: number;
}

type Ending = { readonly outcome: ClaimedOutcome; readonly at: EpochMs };
export type Told = { readonly notify: NotifySettings | undefined; readonly pauseAfterFailures: number | undefined };

/** The row before its run's success was counted: the holder may have died before its record, and the run may fail. */
export function beforeEnd<R extends Pick<Row, 'failures' | 'failedBefore'>>(row: R): R {
  const { failedBefore } = row;
  return failedBefore === undefined ? row : { ...row, failures: failedBefore, failedBefore: undefined };
}

/** The notices that the end of a run calls for. Attempts never do, nor do cancelled runs. Decision 091. */
export function noticesOfEnd(
  { notify, pauseAfterFailures }: Told,
  row: Row,
  { outcome, at }: Ending,
): readonly OwedNotice[] {
  const { run } = row;
  if (notify === undefined || run === undefined || !hasRun(outcome) || outcome === 'cancelled') return [];
  const before = beforeEnd(row);
  const isCounted = before.lastFailedKey === run.key;
  const failedBefore = before.failures - (isCounted ? 1 : 0);
  const { failures } = failuresAfter(before, outcome);
  const owed = (topic: NoticeTopic, change: EndChange, count: number): readonly OwedNotice[] =>
    notify.on.includes(topic) ? [{ change, of: run.key, at, failures: count, ...incidentFacts(row, run.key) }] : [];
  if (outcome === 'succeeded') return failedBefore >= notify.after ? owed('recovery', 'recovered', failedBefore) : [];
  return [
    ...(failedBefore < notify.after && failures >= notify.after ? owed('failure', 'failed', failures) : []),
    ...(pauseAfterFailures !== undefined && failures >= pauseAfterFailures ? owed('pause', 'paused', failures) : []),
  ];
}

/** The first failure since the last success, and how many due times did not run since then. */
function incidentFacts({ recent }: Row, current: string): Pick<OwedNotice, 'since' | 'skipped'> {
  const isSuccess = (entry: Recent): boolean => entry.kind === 'run' && entry.outcome === 'succeeded';
  const incident = recent.slice(recent.findLastIndex(isSuccess) + 1);
  const first = incident.findIndex(
    (entry) => entry.kind === 'run' && entry.outcome !== undefined && entry.outcome !== 'cancelled',
  );
  if (first === -1) return { since: parseRecordKey(current)?.scheduledFor, skipped: 0 };
  const skipped = incident
    .slice(first)
    .reduce((count, entry) => count + (entry.kind === 'gap' ? Math.max(1, entry.count) : 0), 0);
  return { since: incident[first]?.scheduledFor, skipped };
}

/** The name of a change of a job: the same wherever it is seen, and of letters that a blob and a signature can have. */
export function noticeId(job: JobName, change: HealthChange, of: string): string {
  return `${job}_${change}_${of.replaceAll(/[^0-9a-z-]/gi, '')}`;
}

/** The job and the change of a notice's id; undefined if it is not a notice's. */
export function parseNoticeId(id: string): { readonly job: JobName; readonly change: string } | undefined {
  const [, job, change] = /^([a-z0-9-]{1,63})_([a-z]+)_[0-9A-Za-z-]+$/.exec(id) ?? [];
  return job === undefined || change === undefined ? undefined : { job: job as JobName, change };
}

interface NoticedJob {
  readonly name: JobName;
  readonly description: string | undefined;
}

/** The notice of a run's end. The record has the details, if it can be read. */
export function endNotice(
  { name, description }: NoticedJob,
  owed: OwedNotice,
  record: LedgerRecord | undefined,
): Notice {
  const error = record?.attempts.findLast((attempt) => attempt.error !== null)?.error;
  return {
    id: noticeId(name, owed.change, owed.of),
    change: owed.change,
    job: name,
    at: owed.at,
    runId: runIdOf(name, owed.of),
    failures: owed.failures,
    ...given({ description, since: owed.since }),
    ...(owed.skipped > 0 ? { skipped: owed.skipped } : {}),
    ...(record === undefined ? {} : { ...outcomeOf(record), attempts: record.attempts.length }),
    ...(error == null || owed.change === 'recovered' ? {} : { error: errorText(error) }),
  };
}

function outcomeOf({ outcome, reason }: LedgerRecord): { readonly outcome?: string; readonly reason?: Reason } {
  return { ...(outcome === null ? {} : { outcome }), ...(reason === null ? {} : { reason }) };
}

/** The notice of a change that a sweep has seen. */
export function seenNotice(
  { name, description }: NoticedJob,
  change: SeenChange,
  of: string,
  details: Pick<Notice, 'at'> & Partial<Notice>,
): Notice {
  return {
    id: noticeId(name, change, of),
    change,
    job: name,
    ...given({ description }),
    ...details,
    ...(details.reason === undefined ? {} : { reason: brief(details.reason) }),
  };
}

/** Reads a stored notice back; undefined if it is none. */
export function readNotice(body: string): Notice | undefined {
  const value = parsedJson(body);
  if (!isObject(value)) return undefined;
  const { id, change, job, at } = value;
  const isReadable = typeof id === 'string' && typeof change === 'string' && typeof job === 'string' && isInstant(at);
  return isReadable ? { ...value, id, change: change as HealthChange, job: job as JobName, at } : undefined;
}

/** The trouble that a notice begins, repeats or ends. A pause belongs to the failures that caused it. */
export function troubleOf({ change, trouble }: Pick<Notice, 'change' | 'trouble'>): Trouble | undefined {
  if (change === 'paused') return 'failure';
  if (change in BEGINNINGS) return BEGINNINGS[change as keyof typeof BEGINNINGS][0];
  if (change in ENDINGS) return ENDINGS[change as keyof typeof ENDINGS][0];
  return trouble;
}

export function isEnding(change: HealthChange): boolean {
  return change in ENDINGS;
}
