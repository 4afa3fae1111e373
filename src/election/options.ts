import { insteadOf } from '../config/suggest';
import type { JobName, Millis } from '../core/brand';
import { formatDuration, parseDuration } from '../core/duration';
import { marginOf } from '../core/job';
import { isObject } from '../core/metadata';
import type { RowStore, StoreLimits } from '../lease/store';
import type { RowContainer } from '../stores/azure-blob/row-container';
import { electionRowsIn, openElectionStore, StorageSettingsError } from '../stores/open';
import { systemClock } from '../system-clock';
import type { Leadership } from './leadership';

/** `45s`, `10m`, `1h30m`, or a number of milliseconds. */
export type Duration = string | number;

/** The options of {@link LeaderElection}. Its constructor checks every member. */
export type LeaderElectionOptions = ElectionPlace & CampaignOptions;

/** The place of an election's row: all candidates name the same one. */
export type ElectionPlace =
  | {
      /** A `ContainerClient` of `@azure/storage-blob`. A missing container is created if permissions allow it. */
      readonly container: RowContainer;
      readonly storage?: undefined;
    }
  | {
      /** A store, as `CRONLEASE_STORAGE` names it: `postgres://…`, or a connection string of a storage account. */
      readonly storage: string;
      /**
       * The name of the container, or of the schema in PostgreSQL. It is created if it is missing and permissions allow
       * that. Default: `cronlease`.
       */
      readonly container?: string;
    };

/** The options of an instance's part in an election. */
export interface CampaignOptions {
  /**
   * The election's name: 1 to 63 of `a-z 0-9 -`. Its row is the blob `elections/<name>/lease`, or the row of this name in
   * the table `elections`.
   */
  readonly name: string;
  /**
   * The leader's task, called once in each term of this instance. The term ends when the task returns or throws, or its
   * signal is aborted.
   */
  readonly task: (leadership: Leadership) => unknown;
  /** The lease length, 15 s to 60 s: a dead leader stays leader for at most this long. Default: `30s`. */
  readonly lease?: Duration;
  /** The id of this instance, as others see it. Default: host name, process id and a random part. */
  readonly id?: string;
  /** How often a follower reads the row, give or take a fifth: 0.5 s to the lease. Default: a third of the lease. */
  readonly pollInterval?: Duration;
  /**
   * How long a task may take to obey its signal before the lease is released anyway. Less than two thirds of the lease
   * minus its margin, which is 2 s or a tenth of the lease, whichever is longer. Default: `5s`.
   */
  readonly grace?: Duration;
  /** A leader that calls no `progress()` for this long has stalled, and steps down. Default: never. */
  readonly stallAfter?: Duration;
  /** Returns whether this instance is fit to lead. If it fails, a leader steps down and a candidate does not claim. */
  readonly healthCheck?: () => boolean | Promise<boolean>;
  /** The pause between two health checks of a leader. Default: `5s`. */
  readonly healthInterval?: Duration;
  /** A health check that takes longer has failed. Default: `5s`. */
  readonly healthTimeout?: Duration;
  /** What to do after the task has returned: `campaign` for the next term, or `stop`. Default: `campaign`. */
  readonly afterTask?: 'campaign' | 'stop';
  /**
   * How long this instance does not campaign after its task threw, with jitter. Doubles with each failure in a row.
   * Default: `5s`.
   */
  readonly backoff?: Duration;
  /** The longest {@link backoff}. Default: `1m`. */
  readonly maxBackoff?: Duration;
  /** Called once for each trouble. Default: `console.error`, unless there is a listener for `error`. */
  readonly onError?: (error: unknown) => void;
}

/** The options, checked, with every default filled in. */
export interface ElectionSettings extends Required<Pick<CampaignOptions, 'id' | 'task' | 'afterTask'>> {
  readonly name: JobName;
  readonly leaseMs: Millis;
  readonly pollMs: Millis;
  readonly graceMs: Millis;
  readonly stallAfterMs: Millis | undefined;
  readonly healthCheck: CampaignOptions['healthCheck'];
  readonly healthIntervalMs: Millis;
  readonly healthTimeoutMs: Millis;
  readonly backoffMs: Millis;
  readonly maxBackoffMs: Millis;
}

/** The options cannot be used. The message has a line for each error. */
export class ElectionOptionsError extends Error {
  readonly code = 'ElectionOptions';
  override readonly name = 'ElectionOptionsError';

  constructor(readonly problems: readonly string[]) {
    super(`These options of a leader election cannot be used:\n${problems.map((line) => `- ${line}`).join('\n')}`);
  }
}

const KNOWN = [
  'container',
  'storage',
  'name',
  'task',
  'lease',
  'id',
  'pollInterval',
  'grace',
  'stallAfter',
  'healthCheck',
  'healthInterval',
  'healthTimeout',
  'afterTask',
  'backoff',
  'maxBackoff',
  'onError',
] as const satisfies readonly (keyof LeaderElectionOptions)[];

const SECOND = 1_000;
const DAY = 86_400_000;

/** The options as callers without types may pass them. */
type Given = Readonly<Record<string, unknown>>;

/** Throws {@link ElectionOptionsError} with every error at once. */
export function checkOptions(
  options: LeaderElectionOptions,
  defaultId: () => string,
  leases: StoreLimits['leaseMs'],
): ElectionSettings {
  if (!isObject(options)) throw new ElectionOptionsError(['pass an object with container or storage, name and task']);
  const given: Given = options;
  const problems: string[] = [];
  const wrong = (member: string, problem: string): void => void problems.push(`${member} ${problem}`);

  for (const member of Object.keys(given)) {
    if (!KNOWN.some((known) => known === member)) wrong(member, `is not known: ${insteadOf(member, KNOWN)}`);
  }
  const misplaced = problemOfPlace(given);
  if (misplaced !== undefined) problems.push(misplaced);
  checkNames(given, wrong);
  checkFunctions(given, wrong);
  const read = durationReader(given, wrong);
  const leaseMs = read('lease', 30 * SECOND, leases.least, leases.most);
  const pollMs = read('pollInterval', leaseMs / 3, SECOND / 2, leaseMs);
  const graceMs = read('grace', 5 * SECOND, 0, DAY);
  checkGrace(graceMs, leaseMs, wrong);
  const stallAfterMs = given['stallAfter'] === undefined ? undefined : read('stallAfter', 0, SECOND, DAY);
  const healthIntervalMs = read('healthInterval', 5 * SECOND, SECOND / 10, DAY);
  const healthTimeoutMs = read('healthTimeout', 5 * SECOND, SECOND / 100, DAY);
  for (const member of ['healthInterval', 'healthTimeout']) {
    if (given[member] !== undefined && given['healthCheck'] === undefined) {
      wrong(member, 'has no effect without healthCheck: leave it out, or add one');
    }
  }
  const maxBackoffMs = read('maxBackoff', 60 * SECOND, 1, DAY);
  const backoffMs = read('backoff', Math.min(5 * SECOND, maxBackoffMs), 1, DAY);
  if (backoffMs > maxBackoffMs) {
    wrong('backoff', `is ${formatDuration(backoffMs)}, longer than maxBackoff (${formatDuration(maxBackoffMs)})`);
  }
  if (problems.length > 0) throw new ElectionOptionsError(problems);
  return {
    name: options.name as JobName,
    id: options.id ?? defaultId(),
    task: options.task,
    leaseMs,
    pollMs,
    graceMs,
    stallAfterMs,
    healthCheck: options.healthCheck,
    healthIntervalMs,
    healthTimeoutMs,
    afterTask: options.afterTask ?? 'campaign',
    backoffMs,
    maxBackoffMs,
  };
}

type Wrong = (member: string, problem: string) => void;

function checkGrace(graceMs: Millis, leaseMs: Millis, wrong: Wrong): void {
  // The lease is renewed at every third of its length, also while a task winds down: two thirds always remain.
  const limitMs = (leaseMs * 2) / 3 - marginOf(leaseMs);
  if (graceMs < limitMs) return;
  const limit = formatDuration(Math.floor(limitMs));
  wrong(
    'grace',
    `is ${formatDuration(graceMs)}, so a task could outlive its lease of ${formatDuration(leaseMs)}: use ` +
      `less than ${limit} (two thirds of the lease, less its margin), or a longer lease`,
  );
}

function checkNames({ name, id, afterTask }: Given, wrong: Wrong): void {
  if (typeof name !== 'string' || !/^[a-z0-9-]{1,63}$/.test(name)) {
    wrong('name', `is ${show(name)}: use 1 to 63 of a-z, 0-9 and hyphens`);
  }
  // The row's metadata holds the id. Metadata is trimmed and limited in size.
  if (id !== undefined && (typeof id !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(id))) {
    wrong('id', `is ${show(id)}: use 1 to 200 printable ASCII characters without spaces`);
  }
  if (afterTask !== undefined && afterTask !== 'campaign' && afterTask !== 'stop') {
    wrong('afterTask', `is ${show(afterTask)}: use "campaign" or "stop"`);
  }
}

function checkFunctions(given: Given, wrong: Wrong): void {
  if (typeof given['task'] !== 'function') wrong('task', `is ${show(given['task'])}: use a function`);
  for (const member of ['healthCheck', 'onError']) {
    if (given[member] !== undefined && typeof given[member] !== 'function') {
      wrong(member, `is ${show(given[member])}: use a function, or leave it out`);
    }
  }
}

function durationReader(
  given: Given,
  wrong: Wrong,
): (member: string, preset: Millis, least: Millis, most: Millis) => Millis {
  return (member, preset, least, most) => {
    const value = given[member];
    if (value === undefined) return preset;
    const ms = typeof value === 'string' ? parseDuration(value) : value;
    if (typeof ms !== 'number' || !(ms >= least && ms <= most)) {
      const limits = `from ${formatDuration(least)} to ${formatDuration(most)}`;
      wrong(member, `is ${show(value)}: use a duration ${limits}, such as "45s" or a number of milliseconds`);
      return preset;
    }
    return ms;
  };
}

function show(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'missing';
    case 'string':
      return JSON.stringify(value);
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
  }
}

/** Opens the rows, without a call. Throws StorageSettingsError. */
export function openRows({ storage, container }: ElectionPlace): RowStore {
  if (storage === undefined) return electionRowsIn(container, systemClock);
  return openElectionStore({ settings: { CRONLEASE_STORAGE: storage }, container, clock: systemClock });
}

/** Undefined if {@link openRows} can open this place. */
function problemOfPlace({ container, storage }: Given): string | undefined {
  if (storage === undefined) return problemOfClient(container);
  // Any part of a connection string may be its key.
  if (typeof storage !== 'string' || storage.trim() === '') {
    return `storage is ${typeof storage === 'string' ? 'empty' : show(storage)}: use a connection string, or the URL of a store such as "postgres://…"`;
  }
  if (isContainer(container)) {
    return 'container is a ContainerClient, and storage names a place too: leave one of them out';
  }
  if (container !== undefined && typeof container !== 'string') {
    return `container is ${show(container)}: beside storage, use the name of a container`;
  }
  try {
    openRows({ storage, ...(container !== undefined && { container }) });
    return undefined;
  } catch (error) {
    if (!(error instanceof StorageSettingsError)) throw error;
    return error.code === 'ContainerNameInvalid' ? `container ${error.message}` : error.of('storage').message;
  }
}

function problemOfClient(container: unknown): string | undefined {
  if (isContainer(container)) return undefined;
  const remedy = 'use a ContainerClient of @azure/storage-blob';
  // A text may be a connection string with its key.
  if (typeof container === 'string') {
    return `container is a text: ${remedy}, or give the store as storage, and here the name of its container`;
  }
  return `container is ${show(container)}: ${remedy}, or give the store as storage, such as "postgres://…"`;
}

/** A client is an instance of a class, so its methods are not own members. */
function isContainer(value: unknown): value is RowContainer {
  return (
    typeof value === 'object' &&
    value !== null &&
    'url' in value &&
    typeof value.url === 'string' &&
    'getBlockBlobClient' in value &&
    typeof value.getBlockBlobClient === 'function'
  );
}
