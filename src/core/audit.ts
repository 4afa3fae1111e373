import type { EpochMs } from './brand';
import { invertedTime } from './key';
import {
  type RecordOf,
  asciiJson,
  decodeFields,
  encodeFields,
  ForeignMetadataError,
  isInstant,
  isObject,
  listIn,
} from './metadata';
import { type Origin, boundedOrigin, readOrigin } from './origin';

/** What people change, by the words of the command line; `maintenance`: the end of planned work. */
export const ACTIONS = [
  'run',
  'rerun',
  'backfill',
  'cancel',
  'pause',
  'resume',
  'maintenance',
  'ack',
  'unack',
  'cordon',
  'uncordon',
  'unlock',
  'forget',
  'recover',
  'shards',
] as const;
export type Action = (typeof ACTIONS)[number];

/** One change, or an attempt at one. */
export interface AuditEntry {
  readonly at: EpochMs;
  readonly origin: Origin;
  readonly action: string;
  /** The job or the deployment; the jobs of planned work; `jobs`: all of them. */
  readonly target: string;
  /** `begun`: its end is not known because its writer died, storage did not answer, or others were faster. */
  readonly state: 'begun' | 'done' | 'refused';
  /** What was there before, as JSON. Undefined: nothing. */
  readonly before?: unknown;
  /** What is there now; of a change that was not made, or not to its end, the reason. */
  readonly after?: unknown;
}

/** Newer entries have smaller keys, so listings are newest first. */
export function auditKey(at: EpochMs, id: string): string {
  return `${invertedTime(at)}-${id}`;
}

/** The most characters of `before`, and of `after`, in ASCII JSON. */
const VALUE = 2_500;

/** A list of one. */
const AUDIT = { entries: listIn<AuditEntry>('entry', readEntry) };

/** An entry as metadata: a listing shows it whole, so that a page of entries is one call. */
export function encodeAudit(entry: AuditEntry): Readonly<Record<string, string>> {
  const { at, action, target, state } = entry;
  const { identity } = entry.origin;
  const origin = {
    ...boundedOrigin(entry.origin),
    ...(identity === undefined ? {} : { identity: identity.slice(0, 100) }),
  };
  const values = { before: bounded(entry.before), after: bounded(entry.after) };
  return encodeFields<RecordOf<typeof AUDIT>>(AUDIT, {
    entries: [{ at, origin, action, target: target.slice(0, 100), state, ...values }],
  });
}

function bounded(value: unknown): unknown {
  if (value === undefined) return undefined;
  if (asciiJson(value).length <= VALUE) return value;
  let cut = JSON.stringify(value).slice(0, VALUE);
  while (asciiJson({ cut }).length > VALUE) cut = cut.slice(0, -100);
  return { cut };
}

/** Throws {@link ForeignMetadataError} when the metadata is not an entry's. */
export function decodeAudit(metadata: Readonly<Record<string, string>>): AuditEntry {
  const [entry] = decodeFields(AUDIT, metadata).entries;
  if (entry === undefined) throw new ForeignMetadataError('entry', metadata['entry'], 'a list of one entry');
  return entry;
}

function readEntry(member: Readonly<Record<string, unknown>>): AuditEntry | undefined {
  const { at, action, target, before, after } = member;
  const known = readOrigin(member['origin']);
  const identity = isObject(member['origin']) ? member['origin']['identity'] : undefined;
  const origin = typeof identity === 'string' && known !== undefined ? { ...known, identity } : known;
  const state = (['begun', 'done', 'refused'] as const).find((known) => known === member['state']);
  if (!isInstant(at) || typeof action !== 'string' || typeof target !== 'string') return undefined;
  if (origin === undefined || state === undefined) return undefined;
  return { at, origin, action, target, state, before, after };
}
