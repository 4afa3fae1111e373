import type { ConfigIssue } from '../config/config-error';
import { formatDuration, parseTimeSpan } from '../core/duration';
import type { Environment } from './app-settings';
import { hostMember } from './settings';

const MINUTE_MS = 60_000;
/** Durable's default, for either queue. */
const PRESET = '00:05:00';
const PROVIDER = ['extensions', 'durableTask', 'storageProvider'] as const;

interface Rule {
  readonly member: string;
  readonly hidden: string;
  readonly best: string;
  /** Warn of longer values. */
  readonly mostMs: number;
  /** The values that the host accepts. It does not start with any other. */
  readonly range: readonly [number, number] | undefined;
}

const RULES: readonly Rule[] = [
  {
    member: 'workItemQueueVisibilityTimeout',
    hidden: 'the items and attempts',
    best: '00:00:30',
    mostMs: MINUTE_MS,
    range: undefined,
  },
  {
    member: 'controlQueueVisibilityTimeout',
    hidden: 'the results and timers',
    best: '00:01:00',
    mostMs: MINUTE_MS,
    range: [MINUTE_MS, 60 * MINUTE_MS],
  },
];

/** Settings of Durable's queues, in host.json or app settings, that stop the host or delay a run. */
export interface HostAdvice {
  /** Settings with which the host would not start. */
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Checks how long Durable hides messages that a killed host had taken. Returns nothing if host.json does not set up
 * Durable, or its queues are not in Azure Storage.
 */
export function hostAdvice(env: Environment, appFolder: string): HostAdvice {
  const durable = hostMember(appFolder, 'extensions', 'durableTask');
  const type = settingOf(env, appFolder, 'type');
  if (durable === undefined || (type !== undefined && type.toLowerCase() !== 'azurestorage')) {
    return { errors: [], warnings: [] };
  }
  const errors: ConfigIssue[] = [];
  const warnings: ConfigIssue[] = [];
  for (const { member, hidden, best, mostMs, range } of RULES) {
    const value = settingOf(env, appFolder, member);
    const ms = parseTimeSpan(value ?? PRESET);
    const issue = { path: `host.json: ${[...PROVIDER, member].join('.')}`, value: value ?? null };
    const remedy = `set it to "${best}"`;
    if (ms === undefined) errors.push({ ...issue, message: 'this is not a time span', remedy });
    else if (range !== undefined && (ms < range[0] || ms > range[1])) {
      const limits = `${formatDuration(range[0])} to ${formatDuration(range[1])}`;
      errors.push({ ...issue, message: `the host accepts ${limits}, and does not start with another value`, remedy });
    } else if (ms > mostMs) {
      const message = `${hidden} that a killed host had taken stay hidden for ${formatDuration(ms)}, and a fan-out waits for them`;
      warnings.push({ ...issue, message, remedy });
    }
  }
  return { errors, warnings };
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

/** Whether Durable finds the address of its own HTTP API, without which its client cannot be made. */
export function hasWebhooks(env: Environment): boolean {
  return (env['WEBSITE_HOSTNAME'] ?? '') !== '';
}

/**
 * Warns of a limit of handlers that the host's own limit makes useless: those that wait count among its activities.
 *
 * @param atOnce how many activities the host runs at once in one process
 */
export function limitAdvice(limit: number | undefined, atOnce: number): readonly ConfigIssue[] {
  if (limit === undefined || limit < atOnce) return [];
  return [
    {
      path: 'CRONLEASE_MAX_CONCURRENT_RUNS',
      value: limit,
      message: `has no effect: the host runs ${String(atOnce)} activities at once in one process`,
      remedy: `write less than ${String(atOnce)}, or raise maxConcurrentActivityFunctions in host.json`,
    },
  ];
}

function settingOf(env: Environment, appFolder: string, member: string): string | undefined {
  const value =
    env[['AzureFunctionsJobHost', ...PROVIDER, member].join('__')] ?? hostMember(appFolder, ...PROVIDER, member);
  return typeof value === 'string' ? value : undefined;
}
