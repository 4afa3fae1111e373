import fs from 'node:fs';
import JSON5 from 'json5';
import path from 'node:path';
import { isUnlimited, parseTimeSpan } from '../../core/duration';
import { isObject } from '../../core/metadata';

/** The app cannot be loaded: its files are wrong, or its code threw. The message names the place and the reason. */
export class AppLoadError extends Error {
  readonly code = 'AppLoad';
  override readonly name = 'AppLoadError';
}

type Json = Readonly<Record<string, unknown>>;

/** The part of `package.json` that the host reads. */
export interface AppPackage {
  readonly esm: boolean;
  /** Absolute paths of the files that `main` names, in order. */
  readonly entryPoints: readonly string[];
}

/** As in `singleton` of host.json. */
export interface LockTimes {
  /** How long a lock lasts without a renewal. */
  readonly periodMs: number;
  /** How long an instance without the lock waits before it tries again. */
  readonly recoveryMs: number;
}

/** How long Durable hides a message that a host has taken, unless the host renews that. */
export interface Visibility {
  readonly workItemMs: number;
  readonly controlMs: number;
}

function readJson(file: string): Json | undefined {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new AppLoadError(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
  let value: unknown;
  try {
    // The real host accepts comments in these files, and the byte order mark that some editors on Windows write.
    value = JSON5.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new AppLoadError(`${file} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  if (!isObject(value)) throw new AppLoadError(`${file} must contain a JSON object.`);
  return value;
}

function member(value: unknown, ...names: string[]): unknown {
  return names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
}

/** Reads the `package.json` of an app, which may not be built yet. */
export function readPackageJson(app: string): Json {
  const json = readJson(path.join(app, 'package.json'));
  if (json !== undefined) return json;
  throw new AppLoadError(
    `There is no function app in ${app}: it has no package.json. Run this in the folder of an app, or name it with --app DIR.`,
  );
}

/**
 * Reads `package.json` and finds the files that `main`, a path or a glob, names.
 *
 * @param other another `main` than that of the file
 */
export function readPackage(app: string, other?: string): AppPackage {
  const file = path.join(app, 'package.json');
  const json = readPackageJson(app);
  const main = other ?? json['main'];
  if (typeof main !== 'string' || main === '') {
    throw new AppLoadError(`${file} has no "main". Name the file (or a glob) that registers the app's functions.`);
  }
  const entryPoints = fs
    .globSync(main.replace(/^\.\//, ''), { cwd: app })
    .map((found) => path.join(app, found))
    .filter((found) => fs.statSync(found).isFile())
    .sort();
  if (entryPoints.length === 0) {
    const where = other === undefined ? `"main": "${main}" of ${file}` : `--main ${main} in ${app}`;
    throw new AppLoadError(`No file matches ${where}. Build the app first, or correct it.`);
  }
  return { esm: json['type'] === 'module', entryPoints };
}

/** `Values` of `local.settings.json`, none if there is no such file. */
export function readLocalSettings(app: string): Readonly<Record<string, string>> {
  const file = path.join(app, 'local.settings.json');
  const json = readJson(file);
  if (json === undefined) return {};
  if (json['IsEncrypted'] === true) {
    throw new AppLoadError(`${file} is encrypted. Run "func settings decrypt" first.`);
  }
  const values = json['Values'] ?? {};
  if (!isObject(values)) throw new AppLoadError(`"Values" in ${file} must be an object of strings.`);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      // The real host accepts numbers and booleans as text.
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
        return [name, String(value)];
      throw new AppLoadError(`"Values"."${name}" in ${file} must be a string.`);
    }),
  );
}

/** Replaces each `%NAME%` with that setting, as the real host does in bindings and hub names. */
export function resolveSettings(text: string, where: string, env: NodeJS.ProcessEnv = process.env): string {
  return text.replace(/%([^%]+)%/g, (_, name: string) => {
    const value = env[name];
    if (value === undefined || value === '') {
      throw new AppLoadError(`'%${name}%' in ${where} does not resolve to a value: set ${name}.`);
    }
    return value;
  });
}

/**
 * Reads the part of `host.json` that this host obeys; the rest is for the real host.
 * @param cores - number of processor cores: the default number of concurrent activities is 10 for each.
 */
export function readHostJson(app: string, cores: number) {
  const file = path.join(app, 'host.json');
  const json = readJson(file);
  if (json === undefined) {
    throw new AppLoadError(
      `There is no ${file}: create it with {"version": "2.0"}, with the settings of your functions.`,
    );
  }
  if (json['version'] !== '2.0') throw new AppLoadError(`"version" in ${file} must be "2.0".`);
  const durable = member(json, 'extensions', 'durableTask');
  const hub = member(durable, 'hubName');
  const limit = member(durable, 'maxConcurrentActivityFunctions') ?? cores * 10;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) {
    throw new AppLoadError(
      `"extensions.durableTask.maxConcurrentActivityFunctions" in ${file} is ${JSON.stringify(limit)}: it must be a whole number from 1.`,
    );
  }
  const prefix = member(json, 'extensions', 'http', 'routePrefix');
  const time = (names: string, preset: number, atLeast: number, atMost: number, advice: string): number => {
    const value = member(json, ...names.split('.'));
    if (value === undefined) return preset;
    const ms = typeof value === 'string' ? parseTimeSpan(value) : undefined;
    if (ms !== undefined && ms >= atLeast && ms <= atMost) return ms;
    throw new AppLoadError(`"${names}" in ${file} is ${JSON.stringify(value)}. Write it as hh:mm:ss, ${advice}.`);
  };
  // The real host does not start with others: they are the least and the most of a lease.
  const lockTime = (name: string): number =>
    time(`singleton.${name}`, 60_000, 15_000, 60_000, 'from "00:00:15" to "00:01:00"');
  // With less or more, the real host does not start.
  const visibility = (name: string, least: string, leastMs: number): number => {
    const names = `extensions.durableTask.storageProvider.${name}QueueVisibilityTimeout`;
    return time(names, 300_000, leastMs, 3_600_000, `from "${least}" to "01:00:00"`);
  };
  const timerLock: LockTimes = {
    periodMs: lockTime('listenerLockPeriod'),
    recoveryMs: lockTime('listenerLockRecoveryPollingInterval'),
  };
  const hidden: Visibility = {
    workItemMs: visibility('workItem', '00:00:01', 1),
    controlMs: visibility('control', '00:01:00', 60_000),
  };
  return {
    // The default of Core Tools and Flex Consumption.
    functionTimeoutMs: isUnlimited(json['functionTimeout'])
      ? undefined
      : time('functionTimeout', 30 * 60_000, Number.MIN_VALUE, Infinity, 'such as "00:30:00", or "-1"'),
    // First segment of every HTTP function's path; may be empty.
    routePrefix: (typeof prefix === 'string' ? prefix : 'api').replace(/^\/+|\/+$/g, ''),
    hubName:
      typeof hub === 'string' ? resolveSettings(hub, `"extensions.durableTask.hubName" of ${file}`) : 'TestHubName',
    maxConcurrentActivities: limit,
    timerLock,
    visibility: hidden,
  };
}
