import { readFileSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import JSON5 from 'json5';
import path from 'node:path';
import type { EpochMs, Millis } from '../core/brand';
import { isUnlimited, parseDuration, parseTimeSpan } from '../core/duration';
import { isObject } from '../core/metadata';
import { compileSchedule } from '../core/schedule/compile';
import { parseSchedule } from '../core/schedule/parse';
import { zoneOf } from '../core/schedule/zone';
import { ncrontabFields } from '../import/cron-field';
import type { Environment } from './app-settings';
import { CONTAINER_NAME_RULE, isContainerName, isReference, REFERENCE_REMEDY } from '../stores/open';

/** Durable's default: ten activities for each core. */
const ACTIVITIES_PER_CORE = 10;

/** The default of `CRONLEASE_TICK`: six fields, as in Azure's timers. */
export const DEFAULT_TICK = '10,25,40,55 * * * * *';
const DEFAULT_FUNCTION_TIMEOUT_MS = 30 * 60_000;
/** The host's default on the Consumption plan, but not on Flex Consumption. */
const CONSUMPTION_TIMEOUT_MS = 5 * 60_000;

/** An app setting that cannot be used. The message has its name, its value and the remedy. */
export class SettingError extends Error {
  readonly code = 'InvalidSetting';
  override readonly name = 'SettingError';

  constructor(setting: string, value: string, remedy: string) {
    super(`App setting ${setting} is ${JSON.stringify(value)}: ${remedy}`);
  }
}

/** Settings that an app can do without, and what it then leaves out. */
const DISPENSABLE = {
  CRONLEASE_RECEIVERS: 'no notice is sent',
  CRONLEASE_PINGS: 'no address is pinged',
  CRONLEASE_API_KEYS: 'no key is accepted',
} as const;
type Dispensable = keyof typeof DISPENSABLE;

/** A setting that may be a reference to a key vault. Empty if Azure could not resolve it: jobs do not wait for it. */
export function secretSetting(env: Environment, setting: Dispensable): string {
  const text = env[setting];
  return text === undefined || isReference(text) ? '' : text;
}

/** The references that Azure could not resolve, with a sentence on each. */
export function unresolvedSettings(env: Environment): ReadonlyMap<string, string> {
  const found = Object.entries(DISPENSABLE).filter(([setting]) => isReference(env[setting as Dispensable]));
  return new Map(
    found.map(([setting, left]) => [
      setting,
      `App setting ${setting} is ${JSON.stringify(env[setting as Dispensable])}, which Azure could not resolve, so ${left}: ${REFERENCE_REMEDY}.`,
    ]),
  );
}

export interface TickSchedule {
  readonly text: string;
  readonly nextFire: (after: EpochMs) => EpochMs;
}

/** Reads the tick's schedule. Throws {@link SettingError}. */
export function tickSchedule(env: Environment): TickSchedule {
  const text = env['CRONLEASE_TICK'] ?? DEFAULT_TICK;
  const invalid = (why: string): SettingError =>
    new SettingError('CRONLEASE_TICK', text, `${why}. Use six fields, seconds first, such as "${DEFAULT_TICK}"`);
  if (text.trim().split(/\s+/).length !== 6) throw invalid('a timer needs six fields');
  let compiled;
  try {
    // Azure's timers run in UTC.
    compiled = compileSchedule(parseSchedule(text), zoneOf('UTC'), { gap: 'forward', overlap: 'first' }, []);
    // They read fewer forms than jobs.json has. With one of the others the host starts, and the timer never fires.
    ncrontabFields(text);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
  const { timetable } = compiled;
  return {
    text,
    nextFire: (after) => {
      const next = timetable.next(after);
      if (next === undefined) throw invalid('it never fires again');
      return next;
    },
  };
}

/** The longest time between two fires of a tick. A pattern of seconds repeats within these. */
export function longestGap(nextFire: TickSchedule['nextFire'], from: EpochMs): Millis {
  let longest = 0;
  let fire = nextFire(from);
  for (let count = 0; count < 60; count += 1) {
    const next = nextFire(fire);
    longest = Math.max(longest, next - fire);
    fire = next;
  }
  return longest;
}

/** Reads a setting that is a duration. Throws {@link SettingError}. */
export function durationSetting(
  env: Environment,
  setting: string,
  preset: Millis,
  atLeast: Millis,
  atMost: Millis,
): Millis {
  const text = env[setting];
  if (text === undefined || text === '') return preset;
  const value = parseDuration(text);
  if (value === undefined || value < atLeast || value > atMost) {
    const limits = `from ${String(atLeast / 1000)}s to ${String(atMost / 1000)}s`;
    throw new SettingError(setting, text, `use a duration ${limits}, such as "${String(preset / 1000)}s"`);
  }
  return value;
}

/** The name of this app among those that share the jobs. No two may have the same one. */
export function deploymentName(env: Environment): string {
  const site = env['WEBSITE_SITE_NAME'];
  const slot = env['WEBSITE_SLOT_NAME'] ?? '';
  // As the host decides it: `EnvironmentExtensions.GetAzureWebsiteUniqueSlotName`.
  const isProduction = slot === '' || slot.toLowerCase() === 'production';
  const fromSite = site === undefined || isProduction ? site : `${site}-${slot}`;
  const name =
    env['CRONLEASE_DEPLOYMENT'] ?? fromSite ?? hostSetting(env, 'AzureFunctionsWebHost__hostid') ?? hostname();
  if (!/^[\x21-\x7e]{1,100}$/.test(name)) {
    throw new SettingError('CRONLEASE_DEPLOYMENT', name, 'use 1 to 100 printable ASCII characters without spaces');
  }
  return name;
}

/** The coordination container; undefined: the default. Throws {@link SettingError}. */
export function containerName(env: Environment): string | undefined {
  const name = env['CRONLEASE_CONTAINER'];
  if (name === undefined || isContainerName(name)) return name;
  throw new SettingError('CRONLEASE_CONTAINER', name, CONTAINER_NAME_RULE);
}

/** The connections over which the jobs are dealt; undefined: one. Throws {@link SettingError}. */
export function shardNames(env: Environment, preset: readonly string[] | undefined): readonly string[] | undefined {
  const setting = 'CRONLEASE_SHARDS';
  const text = env[setting];
  const names = text === undefined || text === '' ? preset : text.split(',').map((name) => name.trim());
  if (names === undefined) return undefined;
  const isName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(name);
  if (names.length === 0 || !names.every(isName)) {
    // It may be a connection itself, which holds a key.
    const shown = names.map((name) => (isName(name) ? name : '…')).join(', ');
    const example = '"CRONLEASE_STORAGE, CRONLEASE_STORAGE_2"';
    const remedy = `name the settings of the connections, separated by commas, such as ${example}`;
    throw new SettingError(setting, shown, remedy);
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new SettingError(setting, names.join(', '), `it names ${twice} twice. Name each account once`);
  return names;
}

/** How many activities the host runs at once in one process: by host.json, or Durable's default for its cores. */
export function attemptsAtOnce(env: Environment, appFolder: string): number {
  const value = Number(hostValue(env, appFolder, 'extensions', 'durableTask', 'maxConcurrentActivityFunctions'));
  return Number.isInteger(value) && value > 0 ? value : ACTIVITIES_PER_CORE * availableParallelism();
}

/** How many handlers may run at once in this process; undefined: no limit. Throws {@link SettingError}. */
export function maxConcurrentRuns(env: Environment): number | undefined {
  const name = 'CRONLEASE_MAX_CONCURRENT_RUNS';
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  if (!/^[1-9]\d{0,5}$/.test(text)) {
    throw new SettingError(name, text, 'use a whole number from 1 to 999999, or leave it out for no limit');
  }
  return Number(text);
}

/** By host.json or `AzureFunctionsJobHost__functionTimeout`, or else the plan; 30 minutes if it is unlimited. */
export function functionTimeout(env: Environment, appFolder: string): Millis {
  const text = hostText(env, appFolder, 'functionTimeout');
  if (text === undefined) return isConsumption(env) ? CONSUMPTION_TIMEOUT_MS : DEFAULT_FUNCTION_TIMEOUT_MS;
  if (isUnlimited(text)) return DEFAULT_FUNCTION_TIMEOUT_MS;
  const limit = parseTimeSpan(text);
  if (limit === undefined || limit === 0) {
    throw new SettingError('functionTimeout (host.json)', text, 'use hh:mm:ss, such as "00:30:00"');
  }
  return limit;
}

/**
 * Whether the host takes the app for one on the Consumption plan: on Windows by the plan's name, on Linux by its
 * container, which has none of the marks of other plans. Only Azure names the site: any other container may have a name.
 *
 * @see https://github.com/Azure/azure-functions-host `EnvironmentExtensions.IsConsumptionSku`
 */
function isConsumption(env: Environment): boolean {
  const sku = env['WEBSITE_SKU']?.toLowerCase() ?? '';
  if (sku === 'dynamic') return true;
  const others = ['WEBSITE_INSTANCE_ID', 'LEGION_SERVICE_HOST', 'MANAGED_ENVIRONMENT'];
  const isSet = (text = ''): boolean => text !== '';
  const isContainer = isSet(env['WEBSITE_SITE_NAME']) && isSet(env['CONTAINER_NAME']);
  return isContainer && !others.some((name) => isSet(env[name])) && sku !== 'flexconsumption';
}

/**
 * The storage account of the task hub, without secrets; undefined if it is unknown.
 *
 * @param machine the name of this machine, because an emulator's account has the same name everywhere
 */
export function hubAccount(env: Environment, appFolder: string, machine: string): string | undefined {
  const provider = (member: string): string | undefined =>
    hostText(env, appFolder, 'extensions', 'durableTask', 'storageProvider', member);
  const named = provider('connectionName') ?? provider('connectionStringName') ?? 'AzureWebJobsStorage';
  // The extension looks for the name with the host's prefix first: `WebJobsConnectionInfoProvider.Resolve`.
  const prefixed = `AzureWebJobs${named}`;
  const isPrefixed = Object.keys(env).some((name) => name === prefixed || name.startsWith(`${prefixed}__`));
  const connection = isPrefixed ? prefixed : named;
  const member = (name: string): string | undefined => {
    const part = (env[connection] ?? '').split(';').find((text) => text.toLowerCase().startsWith(`${name}=`));
    return part?.slice(name.length + 1).trim();
  };
  const endpoint =
    member('blobendpoint') ??
    env[`${connection}__blobServiceUri`] ??
    env[`${connection}__queueServiceUri`] ??
    env[`${connection}__tableServiceUri`];
  const host = endpoint === undefined ? undefined : URL.parse(endpoint)?.hostname;
  if (member('usedevelopmentstorage') !== undefined || /^(127\.|localhost$|\[::1\])/.test(host ?? '')) {
    return `emulator on ${machine}`;
  }
  return (member('accountname') ?? env[`${connection}__accountName`] ?? host?.split('.')[0])?.toLowerCase();
}

/** The app setting that goes before a member of host.json; undefined: there is none. */
export function hostOverride(env: Environment, ...members: readonly string[]): string | undefined {
  return hostSetting(env, ['AzureFunctionsJobHost', ...members].join('__'));
}

/** A setting of the host, by its name in any case. */
function hostSetting(env: Environment, name: string): string | undefined {
  const value = anyCase(env, name);
  return typeof value === 'string' ? value : undefined;
}

function hostValue(env: Environment, appFolder: string, ...members: readonly string[]): unknown {
  return hostOverride(env, ...members) ?? hostMember(appFolder, ...members);
}

/** A text of host.json, or of the app setting before it. */
export function hostText(env: Environment, appFolder: string, ...members: readonly string[]): string | undefined {
  const value = hostValue(env, appFolder, ...members);
  return typeof value === 'string' ? value : undefined;
}

class HostFileError extends Error {
  readonly code = 'InvalidHostFile';
  override readonly name = 'HostFileError';

  constructor(file: string, cause: unknown) {
    super(`${file} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** A member of host.json; undefined if there is none. Throws {@link HostFileError} if the file cannot be read. */
export function hostMember(appFolder: string, ...members: readonly string[]): unknown {
  const file = path.join(appFolder, 'host.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    // A missing host.json is left to the host, which reports it better.
    if (isObject(error) && error['code'] === 'ENOENT') return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = parseHost(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new HostFileError(file, cause);
  }
  for (const member of members) value = isObject(value) ? anyCase(value, member) : undefined;
  return value;
}

/** A member or a setting by its name in any case: the host's configuration does not tell them apart. */
function anyCase(value: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name];
  return Object.entries(value).find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1];
}

/** The host allows comments in this file. Most have none, and each start of an app reads it many times. */
function parseHost(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return JSON5.parse(text);
  }
}
