import type { EpochMs, JobName, LeaseId } from './brand';
import { isoOf } from './iso';

/** Later than any instant that cronlease handles. Newer records get smaller keys, so listings are newest first. */
const KEY_BASE = 1e13;

/**
 * The key of a run's ledger record: 13 digits, then `-s` for a due time or `-m-<id>` for a manual run. A back-filled
 * due time has its own 13 digits and the id of the back-fill.
 * The key is the run's identity.
 */
export function recordKey(scheduledFor: EpochMs, request?: string): string {
  return invertedTime(scheduledFor) + (request === undefined ? '-s' : `-m-${request}`);
}

/** 10^13 − ms, as 13 digits. */
export function invertedTime(instant: EpochMs): string {
  return String(KEY_BASE - instant).padStart(13, '0');
}

/** The reverse of {@link invertedTime}. */
export function timeOfInverted(inverted: string): EpochMs {
  return KEY_BASE - Number(inverted);
}

export interface KeyParts {
  readonly scheduledFor: EpochMs;
  readonly request: string | undefined;
}

/** Whether an id can be part of a key. */
export function isRequestId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-z]{1,64}$/.test(id);
}

/** The parts of a record's key; undefined if cronlease did not make it. */
export function parseRecordKey(key: string): KeyParts | undefined {
  const match = /^(\d{13})-(?:s|m-([0-9a-z]+))$/.exec(key);
  if (match === null) return undefined;
  return { scheduledFor: timeOfInverted(match[1] ?? ''), request: match[2] };
}

/** A run's readable id: the job, the time, and for a manual run its id. */
export function runIdOf(job: JobName, key: string): string {
  const parts = parseRecordKey(key);
  if (parts === undefined) return `${job}/${key}`;
  return runIdAt(job, parts);
}

/** As {@link runIdOf}, from the parts of the key. */
export function runIdAt(job: JobName, { scheduledFor, request }: KeyParts): string {
  return `${job}-${compactTime(scheduledFor)}` + (request === undefined ? '' : `-m-${request}`);
}

/** The parts of a run's id; undefined if it cannot be one. Times have no letters, so a job's name ends before them. */
export function parseRunId(id: string): { readonly job: string; readonly key: string } | undefined {
  const match = /^([a-z0-9-]{1,63})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d{3})?)Z(?:-m-([0-9a-z]{1,64}))?$/.exec(
    id,
  );
  if (match === null) return undefined;
  const [, job = '', year = '', month = '', day = '', hour = '', minute = '', second = '', request] = match;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(at) || at < 0) return undefined;
  const key = recordKey(at, request);
  return parseRecordKey(key) === undefined ? undefined : { job, key };
}

/** The orchestration's id, at most 89 characters. It contains the lease id, so that each acquisition has its own. */
export function orchestrationId(job: JobName, scheduledFor: EpochMs, leaseId: LeaseId): string {
  return `${job}-${compactTime(scheduledFor).replace(/\.\d+/, '')}-${leaseId.slice(0, 8)}`;
}

/** `yyyymmddThhmmssZ`, with milliseconds unless they are 0. */
export function compactTime(instant: EpochMs): string {
  const iso = isoOf(instant);
  const fraction = instant % 1_000 === 0 ? 'Z' : iso.slice(19);
  return iso.slice(0, 4) + iso.slice(5, 7) + iso.slice(8, 13) + iso.slice(14, 16) + iso.slice(17, 19) + fraction;
}
