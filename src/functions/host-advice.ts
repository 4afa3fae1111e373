import path from 'node:path';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ConfigIssue, FilePosition } from '../config/config-error';
import { JsonError, parseJson } from '../config/json';
import type { Millis } from '../core/brand';
import { formatDuration, parseTimeSpan } from '../core/duration';
import type { Environment } from './app-settings';
import {
  attemptsAtOnce,
  functionTimeout,
  hostMember,
  hostOverride,
  hostText,
  hubAccount,
  maxConcurrentRuns,
} from './settings';

/** A text, or a comment, which the host allows in this file. */
const TEXT_OR_COMMENT = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

const MINUTE_MS = 60_000;
const HUB = ['extensions', 'durableTask', 'hubName'] as const;
const PROVIDER = ['extensions', 'durableTask', 'storageProvider'] as const;

interface Rule {
  readonly member: string;
  /** Durable's default. */
  readonly preset: string;
  readonly effect: (span: string) => string;
  readonly best: string;
  /** Warn of longer values. */
  readonly mostMs: number;
  /** The values that the host accepts. It does not start with any other. */
  readonly range: readonly [number, number] | undefined;
}

const hides =
  (what: string) =>
  (span: string): string =>
    `${what} that a killed host had taken stay hidden for ${span}, and a fan-out waits for them`;

const RULES: readonly Rule[] = [
  {
    member: 'maxQueuePollingInterval',
    preset: '00:00:30',
    effect: (span) => `an idle host looks for work every ${span}, and an attempt starts late by up to that long`,
    best: '00:00:02',
    mostMs: 5_000,
    range: undefined,
  },
  {
    member: 'workItemQueueVisibilityTimeout',
    preset: '00:05:00',
    effect: hides('the items and attempts'),
    best: '00:00:30',
    mostMs: MINUTE_MS,
    range: undefined,
  },
  {
    member: 'controlQueueVisibilityTimeout',
    preset: '00:05:00',
    effect: hides('the results and timers'),
    best: '00:01:00',
    mostMs: MINUTE_MS,
    range: [MINUTE_MS, 60 * MINUTE_MS],
  },
];

/**
 * Checks how often Durable looks for messages, and how long it hides those that a killed host had taken. A member that is
 * missing has Durable's default. Returns nothing if there is no host.json, or the queues are not in Azure Storage.
 * Decision 059.
 */
export function hostAdvice(env: Environment, appFolder: string) {
  const type = hostText(env, appFolder, ...PROVIDER, 'type');
  if (hostMember(appFolder) === undefined || (type !== undefined && type.toLowerCase() !== 'azurestorage')) {
    return { errors: [], warnings: [] };
  }
  /** Settings with which the host would not start. */
  const errors: ConfigIssue[] = [];
  /** Settings that delay a run. */
  const warnings: ConfigIssue[] = [];
  for (const { member, preset, effect, best, mostMs, range } of RULES) {
    const value = hostText(env, appFolder, ...PROVIDER, member);
    const ms = parseTimeSpan(value ?? preset);
    const issue = { ...placeOf(env, appFolder, [...PROVIDER, member]), value: value ?? null };
    const remedy = `set it to "${best}"`;
    if (ms === undefined) errors.push({ ...issue, message: 'this is not a time span', remedy });
    else if (range !== undefined && (ms < range[0] || ms > range[1])) {
      const limits = `${formatDuration(range[0])} to ${formatDuration(range[1])}`;
      errors.push({ ...issue, message: `the host accepts ${limits}, and does not start with another value`, remedy });
    } else if (ms > mostMs) {
      const message = `${value === undefined ? 'is not set, and ' : ''}${effect(formatDuration(ms))}`;
      warnings.push({ ...issue, message, remedy });
    }
  }
  return { errors, warnings: [...warnings, ...unreadHub(env, appFolder)] };
}

/** Warns of a task hub that is named for nothing: the host would take the name of the app, as its slots do. */
function unreadHub(env: Environment, appFolder: string): readonly ConfigIssue[] {
  const name = env['TASKHUB_NAME'] ?? '';
  const hub = hostText(env, appFolder, ...HUB);
  if (name === '' || hub === name || hub?.includes('%TASKHUB_NAME%') === true) return [];
  const message = `has no effect: host.json has ${hub === undefined ? 'no' : 'another'} ${HUB.join('.')}`;
  const remedy = `set "${HUB.join('.')}": "%TASKHUB_NAME%" in host.json`;
  return [{ path: 'TASKHUB_NAME', value: name, message, remedy }];
}

/** Warns of a host that cannot hand its task hub to a function. Each tick then fails before cronlease is called. */
export function hubAdvice(env: Environment): readonly ConfigIssue[] {
  if (hasWebhooks(env)) return [];
  return [
    {
      path: 'WEBSITE_HOSTNAME',
      value: null,
      message: 'is not set, so no tick runs: the host fails each one with "Webhooks are not configured"',
      remedy: 'set it to the host and port of the app, such as "localhost:7071"',
    },
  ];
}

/** Whether Durable finds the address of Durable's HTTP API, without which its client cannot be made. */
export function hasWebhooks(env: Environment): boolean {
  return (env['WEBSITE_HOSTNAME'] ?? '') !== '';
}

/** Warns of a limit of handlers that the host's own makes useless: those that wait are among its activities. */
export function limitAdvice(limit: number | undefined, atOnce: number): readonly ConfigIssue[] {
  if (limit === undefined || limit < atOnce) return [];
  return [
    {
      path: 'CRONLEASE_MAX_CONCURRENT_RUNS',
      value: limit,
      message: `has no effect: the host runs ${String(atOnce)} activities at once in one process`,
      remedy: `must be less than ${String(atOnce)}, or raise maxConcurrentActivityFunctions in host.json`,
    },
  ];
}

/**
 * Warns of several processes for one host, which gives each call, and so each tick, to another of them. It may also
 * start more of them by itself, unless their number is set.
 *
 * @see https://github.com/Azure/azure-functions-host `RpcFunctionInvocationDispatcherLoadBalancer`, and
 *   `EnvironmentExtensions.IsWorkerDynamicConcurrencyEnabled`
 */
export function workerAdvice(env: Environment): readonly ConfigIssue[] {
  const count = env['FUNCTIONS_WORKER_PROCESS_COUNT'] ?? '';
  const grows = env['FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED'] ?? '';
  const about = (path: string, value: string, its: string, remedy: string): readonly ConfigIssue[] => {
    const message =
      `the host gives each tick to another of ${its} processes, so that each lists the jobs by itself, and ` +
      '"cronlease doctor" takes them for deployments that share a name';
    return [{ path, value, message, remedy }];
  };
  if (Number(count) > 1) {
    return about('FUNCTIONS_WORKER_PROCESS_COUNT', count, `its ${count}`, 'set it to 1, or leave it out');
  }
  if (count !== '' || grows.trim().toLowerCase() !== 'true') return [];
  return about('FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED', grows, 'its', 'leave it out');
}

/** The place of a member of host.json, or of what it is missing in. An app setting goes before the file. */
function placeOf(env: Environment, appFolder: string, member: readonly string[]): Pick<ConfigIssue, 'path' | 'place'> {
  const isInFile = hostOverride(env, ...member) === undefined;
  const place = isInFile ? hostPlace(appFolder, member) : undefined;
  return place === undefined ? { path: `host.json: ${member.join('.')}` } : { path: member.join('.'), place };
}

/**
 * The place of a member of host.json; of one that is missing, that of the object in which it is missing. Undefined: the
 * file has something besides comments that is not JSON, and that the host reads all the same.
 */
function hostPlace(appFolder: string, member: readonly string[]): FilePosition | undefined {
  const file = path.join(appFolder, 'host.json');
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  const plain = text.replace(TEXT_OR_COMMENT, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, ' '),
  );
  try {
    return { file: path.relative(process.cwd(), file), ...parseJson(plain).positionAt(member) };
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** What coordinators have to know about the host of their process. */
export interface HostFacts {
  /** The host kills a call after this long; undefined: it does not. */
  readonly functionTimeoutMs: Millis | undefined;
  /** How many attempts the host runs at the same time in this process; undefined: it has no limit. */
  readonly attemptsAtOnce: number | undefined;
  /** How many handlers may run at once in this process; undefined: no limit but the host's. */
  readonly maxConcurrentRuns: number | undefined;
  /** The storage account of the task hub, without secrets; undefined: unknown, or the hub has none. */
  readonly hubAccount: string | undefined;
  /** Settings of the host that hinder cronlease. */
  readonly warnings: readonly ConfigIssue[];
}

/** The Functions host, by host.json and the app settings. Throws `SettingError`. */
export function functionsHost(env: Environment, appFolder: string): HostFacts {
  const atOnce = attemptsAtOnce(env, appFolder);
  const limit = maxConcurrentRuns(env);
  return {
    functionTimeoutMs: functionTimeout(env, appFolder),
    attemptsAtOnce: atOnce,
    maxConcurrentRuns: limit,
    hubAccount: hubAccount(env, appFolder, hostname()),
    warnings: [
      ...hubAdvice(env),
      ...workerAdvice(env),
      ...hostAdvice(env, appFolder).warnings,
      ...limitAdvice(limit, atOnce),
    ],
  };
}
