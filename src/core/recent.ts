import type { EpochMs, Millis } from './brand';
import { RAN_OUTCOMES, type Reason, type RanOutcome, type Stretch, type UnrunOutcome } from './outcome';
import { type KeyParts, isRequestId, parseRecordKey, recordKey } from './key';
import { isInstant } from './metadata';

/** How many of its last outcomes a row remembers. */
export const RECENT_OUTCOMES = 20;
/** They mostly take less than this. If they need more, as with long request ids, the oldest ones are dropped. */
const RECENT_BYTES = 640;

/** A run that is over, as the row remembers it. */
export interface RecentRun {
  readonly kind: 'run';
  readonly scheduledFor: EpochMs;
  /** The id of the manual run that it was for. */
  readonly request: string | undefined;
  /** Undefined: it is over, and the row does not show how it ended. */
  readonly outcome: RanOutcome | undefined;
  /** From its actual due time to the first call of its handler, in milliseconds. */
  readonly latenessMs: Millis | undefined;
  /** The handler's time in all attempts. Undefined: only its record has it. */
  readonly durationMs: Millis | undefined;
  /** How long it waited between its attempts. */
  readonly waitedMs: Millis;
  readonly attempts: number;
}

/** Due times that did not run, all with one outcome for one reason. */
export interface RecentGap {
  readonly kind: 'gap';
  /** The newest of them. */
  readonly scheduledFor: EpochMs;
  readonly outcome: UnrunOutcome;
  readonly reason: Reason;
  readonly count: number;
}

/** One of the last outcomes of a job, for lists. Only the ledger is complete. */
export type Recent = RecentRun | RecentGap;

const RUN_CODES: Readonly<Record<RanOutcome, string>> = {
  succeeded: 's',
  failed: 'f',
  timedOut: 't',
  stalled: 'l',
  cancelled: 'c',
};
const UNKNOWN_END = 'e';
const RUN_OUTCOMES = new Map<string, RanOutcome>(RAN_OUTCOMES.map((outcome) => [RUN_CODES[outcome], outcome]));

const GAP_CODES: readonly (readonly [code: string, outcome: UnrunOutcome, reason: Reason])[] = [
  ['os', 'overlapped', 'overlapSkip'],
  ['on', 'overlapped', 'overlapNewer'],
  ['cl', 'collapsed', 'catchUpLatest'],
  ['xw', 'expired', 'catchUpWindow'],
  ['xn', 'expired', 'catchUpNone'],
  ['xf', 'expired', 'failedOver'],
  ['xc', 'expired', 'concurrencyLimit'],
  ['xg', 'expired', 'groupFull'],
  ['xr', 'expired', 'requirementNotMet'],
  ['p', 'paused', 'paused'],
  ['d', 'disabled', 'disabled'],
];

/** One metadata value; undefined if empty. Numbers have base 36, and trailing empty fields are left out. */
export function encodeRecent(recent: readonly Recent[]): string | undefined {
  const entries = recent.slice(-RECENT_OUTCOMES).flatMap((entry) => {
    const fields = fieldsOf(entry);
    return fields === undefined ? [] : [fields.join('.').replace(/\.+$/, '')];
  });
  while (entries.join(',').length > RECENT_BYTES) entries.shift();
  return entries.length === 0 ? undefined : entries.join(',');
}

function fieldsOf(entry: Recent): readonly string[] | undefined {
  const at = entry.scheduledFor.toString(36);
  if (entry.kind === 'gap') {
    const code = GAP_CODES.find(([, outcome, reason]) => outcome === entry.outcome && reason === entry.reason)?.[0];
    return code === undefined ? undefined : [code, at, entry.count === 1 ? '' : entry.count.toString(36)];
  }
  const { outcome, latenessMs, durationMs, waitedMs, attempts, request } = entry;
  return [
    outcome === undefined ? UNKNOWN_END : RUN_CODES[outcome],
    at,
    latenessMs?.toString(36) ?? '',
    durationMs?.toString(36) ?? '',
    attempts === 1 ? '' : attempts.toString(36),
    request ?? '',
    waitedMs === 0 ? '' : waitedMs.toString(36),
  ];
}

/** Reads the list back. No decision rests on it, so an entry that cannot be read is left out and harms nothing. */
export function decodeRecent(text: string | undefined): readonly Recent[] {
  if (text === undefined) return [];
  return text
    .split(',')
    .slice(-RECENT_OUTCOMES)
    .flatMap((entry) => readEntry(entry.split('.')) ?? []);
}

function readEntry([code = '', at = '', ...rest]: readonly string[]): Recent | undefined {
  const scheduledFor = whole(at);
  if (!isInstant(scheduledFor)) return undefined;
  const outcome = RUN_OUTCOMES.get(code);
  if (outcome === undefined && code !== UNKNOWN_END) {
    const gap = GAP_CODES.find(([known]) => known === code);
    if (gap === undefined) return undefined;
    return { kind: 'gap', scheduledFor, outcome: gap[1], reason: gap[2], count: whole(rest[0]) ?? 1 };
  }
  const [latenessMs, durationMs, attempts, request, waitedMs] = rest;
  return {
    kind: 'run',
    scheduledFor,
    request: isRequestId(request) ? request : undefined,
    outcome,
    latenessMs: whole(latenessMs),
    durationMs: whole(durationMs),
    waitedMs: whole(waitedMs) ?? 0,
    attempts: whole(attempts) ?? 1,
  };
}

function whole(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9a-z]{1,11}$/.test(text)) return undefined;
  const value = Number.parseInt(text, 36);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Adds an entry, or replaces the one that the list has of the same run, unless only that one has a duration. */
export function withRun(recent: readonly Recent[], entry: RecentRun | undefined): readonly Recent[] {
  if (entry === undefined) return recent;
  const index = recent.findIndex((other) => other.kind === 'run' && isSameRun(other, entry));
  if (index === -1) return [...recent, entry].slice(-RECENT_OUTCOMES);
  const known = recent[index];
  const isLess = known?.kind === 'run' && known.durationMs !== undefined && entry.durationMs === undefined;
  return isLess ? recent : recent.with(index, entry);
}

/** Completes the entry of a run, if the list has it without a duration. */
export function completed(recent: readonly Recent[], entry: RecentRun | undefined): readonly Recent[] {
  if (entry === undefined) return recent;
  return recent.some((other) => other.kind === 'run' && isSameRun(other, entry)) ? withRun(recent, entry) : recent;
}

/** The newest run in the list, if its duration is not known. */
export function incompleteRun(recent: readonly Recent[]): RecentRun | undefined {
  const newest = recent.findLast((entry) => entry.kind === 'run');
  return newest?.durationMs === undefined ? newest : undefined;
}

/** Adds due times that did not run, unless their number is unknown because the schedule was replaced. */
export function withGaps(recent: readonly Recent[], stretches: readonly Stretch[]): readonly Recent[] {
  const gaps = stretches
    .filter(({ count, request }) => count > 0 && request === undefined)
    .map(({ outcome, reason, through, count }): RecentGap => {
      return { kind: 'gap', scheduledFor: through, outcome, reason, count };
    });
  return gaps.length === 0 ? recent : [...recent, ...gaps].slice(-RECENT_OUTCOMES);
}

/** The ledger key of a run in the list. */
export function keyOf({ scheduledFor, request }: RecentRun): string {
  return recordKey(scheduledFor, request);
}

/** The run of this ledger key, if the list has it. */
export function runWith(recent: readonly Recent[], key: string): RecentRun | undefined {
  const parts = parseRecordKey(key);
  return parts && recent.find((entry): entry is RecentRun => entry.kind === 'run' && isSameRun(entry, parts));
}

function isSameRun(a: KeyParts, b: KeyParts): boolean {
  return a.scheduledFor === b.scheduledFor && a.request === b.request;
}
