import type { EpochMs } from './brand';
import type { Reason, RanOutcome } from './outcome';
import { parseRecordKey } from './key';
import { firstOf, isInstant, isText, isWhole, membersOf, orAbsent } from './metadata';
import { type Recent, type RecentRun, keyOf } from './recent';
import type { Row } from './row';

/**
 * The failures of a job until its next success. Cancelled runs, and due times that did not run, neither begin nor end
 * it.
 */
export interface Incident {
  /** The due time of its first failed run that is known; if no run has failed, when the job became overdue. */
  readonly since: EpochMs;
  /** Whether `since` is its beginning. False: it began earlier, because a row remembers 20 outcomes at most. */
  readonly isWhole: boolean;
  /** How many runs have failed. 0: the job is overdue, and no run has failed since its last success. */
  readonly failures: number;
  /** The record keys of the first and the last failed run that are known. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  /** The reason of the last one, if its outcome has only one; else only its record has it. */
  readonly lastReason: Reason | undefined;
}

/** The note of a person who looks after an incident. */
export interface Acknowledgement {
  readonly by: string;
  /** May be empty. */
  readonly note: string;
  readonly at: EpochMs;
  /** When it ends by itself. Undefined: with the incident. */
  readonly until: EpochMs | undefined;
  /** The record key of the last failed run at that time, if one was known. */
  readonly run: string | undefined;
  /** How many runs of the incident had failed at that time. */
  readonly failures: number;
}

/** The parts of a job's row that show its incident. */
export interface Outcomes extends Pick<Row, 'failures' | 'lastFailedKey' | 'lastGoodAt'> {
  /** Its last outcomes, with that of a settled run that the row does not list yet. */
  readonly recent: readonly Recent[];
}

/**
 * The incident of a job that fails or is overdue; undefined if it does neither. Decision 096.
 *
 * @param overdueSince when the job became overdue, if it is
 */
export function incidentOf(outcomes: Outcomes, overdueSince: EpochMs | undefined): Incident | undefined {
  const { recent, failures, lastFailedKey, lastGoodAt } = outcomes;
  const failed = recent.slice(recent.findLastIndex(isSuccess) + 1).filter(isFailed);
  // The list may lack the success that reset the count. The count lacks a run whose end is unknown.
  const known = failures > 0 ? failed.slice(-failures) : failed;
  const count = Math.max(failures, known.length);
  if (count === 0 && overdueSince === undefined) return undefined;
  const keys = known.map(keyOf);
  const [first = lastFailedKey] = keys;
  const last = keys.at(-1) ?? lastFailedKey;
  const firstDue = count === 0 || first === undefined ? undefined : parseRecordKey(first)?.scheduledFor;
  return {
    since: firstDue ?? overdueSince ?? lastGoodAt,
    isWhole: known.length === count,
    failures: count,
    first: count === 0 ? undefined : first,
    last: count === 0 ? undefined : last,
    lastReason: reasonOf(known.at(-1)?.outcome),
  };
}

/** Only these outcomes have a single reason. */
function reasonOf(outcome: RanOutcome | undefined): Reason | undefined {
  return outcome === 'timedOut' ? 'timeout' : outcome === 'stalled' ? 'stallAfter' : undefined;
}

/** The acknowledgement of an incident that begins with it. */
export function acknowledgeIncident(
  { failures, last }: Incident,
  { by, note, at, until }: Pick<Acknowledgement, 'by' | 'note' | 'at' | 'until'>,
): Acknowledgement {
  return { by, note, at, until, run: last, failures };
}

/** Whether an acknowledgement is in force: its end has not come, and the job has had no success since. */
export function isInForce(acknowledgement: Acknowledgement, outcomes: Outcomes, now: EpochMs): boolean {
  const { until = Infinity } = acknowledgement;
  return now < until && !hasSucceededSince(acknowledgement, outcomes);
}

function hasSucceededSince(
  { at, run, failures: before }: Acknowledgement,
  { recent, failures, lastGoodAt }: Outcomes,
): boolean {
  if (failures < before) return true;
  const index = recent.findIndex((entry) => isFailed(entry) && keyOf(entry) === run);
  // The list no longer reaches back. A row notes when it was well, after a pause too: then this ends too early.
  if (index === -1) return lastGoodAt > at || recent.some((entry) => isSuccess(entry) && startOf(entry) > at);
  const later = recent.slice(index + 1);
  // More failures than the count has grown by: it was reset in between.
  return later.some(isSuccess) || later.filter(isFailed).length > failures - before;
}

/** When the handler was called, or somewhat before: a run with `spread` begins later. */
function startOf({ scheduledFor, latenessMs = 0 }: RecentRun): EpochMs {
  return scheduledFor + latenessMs;
}

function isSuccess(entry: Recent): entry is RecentRun {
  return entry.kind === 'run' && entry.outcome === 'succeeded';
}

function isFailed(entry: Recent): entry is RecentRun {
  if (entry.kind !== 'run') return false;
  return entry.outcome === 'failed' || entry.outcome === 'timedOut' || entry.outcome === 'stalled';
}

const acknowledgementOf = membersOf<Acknowledgement>({
  by: isText,
  note: isText,
  at: isInstant,
  until: orAbsent(isInstant),
  run: orAbsent(isText),
  failures: isWhole,
});

/** Reads an acknowledgement leniently: it serves only people, so that a job must not stand still for it. */
export function readAcknowledgement(text: string | undefined): Acknowledgement | undefined {
  return acknowledgementOf(firstOf(text));
}
