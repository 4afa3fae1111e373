import { randomUUID } from 'node:crypto';
import { formatDuration } from '../core/duration';
import { shardNames } from '../functions/settings';
import { dealtStore } from '../lease/dealt-store';
import type { SecondAudit } from '../lease/second-audit';
import type { ElectionStore, LeaseStore } from '../lease/store';
import type { TriedAccount } from '../operator/doctor/diagnose';
import type { LeaseTaker } from '../operator/operations/take-lease';
import type { Connection, Settings } from '../stores/open';
import * as stores from '../stores/open';
import { systemClock } from '../system-clock';
import { type DevFile, readDevFile } from './dev/dev-file';

import { CliError, UsageError, warn } from './output';

export interface StorageOptions {
  /** A connection string, the URL of a blob service for a signed-in user, or the URL of another store. */
  readonly storage?: string | undefined;
  readonly container?: string | undefined;
}

/** Short, because someone is waiting. */
const CALL_TIMEOUT_MS = 8_000;
/** The first call with an identity waits for a token; the Azure CLI takes a few seconds. */
const IDENTITY_TIMEOUT_MS = 20_000;
const SETTING = 'CRONLEASE_STORAGE';
const SERVICE_URI = `${SETTING}__blobServiceUri`;

/**
 * Opens the coordination container named on the command line, in the environment, or by a `cronlease dev` running in
 * the current folder, in that order. Makes no call.
 */
export function openStore(options: StorageOptions): LeaseStore {
  return dealtStore(openAccounts(options, shardsIn(options)));
}

/** A store for each of these connections, which the environment holds; without names, for the only one. */
export function openAccounts(options: StorageOptions, names: readonly string[] | undefined): readonly LeaseStore[] {
  const found = opened(options, (connection) =>
    names === undefined ? [stores.openStore(connection)] : stores.openShards(connection, names),
  );
  return stores.auditedStores(auditConnection(options), found);
}

/** The environment names the second place of audit entries, even if the command line names the storage. */
function auditConnection(options: StorageOptions): Connection {
  return timed({ settings: process.env, container: whichStorage(options).container });
}

/** The second place of audit entries; undefined: there is none. */
export function openSecondAudit(options: StorageOptions): SecondAudit | undefined {
  return stores.openSecondAudit(auditConnection(options));
}

/**
 * The store whose connection a setting of the environment holds, or the settings that begin with its name, with the
 * second place of audit entries. Throws `StorageSettingsError`.
 */
export function openSetting(name: string, container: string | undefined): LeaseStore {
  const place = container ?? (process.env['CRONLEASE_CONTAINER'] || stores.DEFAULT_CONTAINER);
  const connection = timed({ settings: process.env, container: place });
  const [store] = stores.auditedStores(connection, stores.openShards(connection, [name]));
  if (store === undefined) throw new CliError('NoStorage', `${name} names no store`);
  return store;
}

/** The connections over which the jobs are dealt; undefined: the command line names a storage, or there is only one. */
function shardsIn({ storage }: StorageOptions): readonly string[] | undefined {
  return storage === undefined ? shardNames(process.env, undefined) : undefined;
}

/** Tries out the caller's rights on the storage, in each account. */
export async function tryStorage(options: StorageOptions): Promise<readonly TriedAccount[]> {
  const names = shardsIn(options);
  return opened(options, (connection) =>
    Promise.all(
      openAccounts(options, names).map(async ({ location }, index) => {
        const name = names?.[index];
        const account = name === undefined ? connection : stores.connectionOf(connection, name);
        return { location, trial: await stores.tryStorage(account, randomUUID()) };
      }),
    ),
  );
}

/** For commands that take leases. */
export function deskOf(store: LeaseStore): LeaseTaker {
  const waiting: LeaseTaker['waiting'] = (why, ms) => warn(`${why}: waits for ${formatDuration(ms)}`);
  return { store, clock: systemClock, newId: randomUUID, waiting };
}

/** As {@link deskOf}, for the elections in the same container. */
export function openElections(options: StorageOptions): LeaseTaker<ElectionStore> {
  const store = opened(options, (connection) => stores.openElectionStore(firstOf(connection, options)));
  return { ...deskOf(openStore(options)), store };
}

function firstOf(connection: TimedConnection, options: StorageOptions): TimedConnection {
  const [first] = shardsIn(options) ?? [];
  return first === undefined ? connection : stores.connectionOf(connection, first);
}

type TimedConnection = Connection & { readonly callTimeoutMs: number };

/** The storage that this command uses, or the first of several accounts. */
let used: Connection | undefined;

/** The identity of Entra with which this command calls storage; undefined if it uses a key, or another store. */
export async function shellIdentity(): Promise<stores.Identity | undefined> {
  return used === undefined ? undefined : stores.identityOf(used);
}

/** Calls `open` with the storage that the command line names; its errors name the option. */
function opened<T>(options: StorageOptions, open: (connection: TimedConnection) => T): T {
  const connection = timed(whichStorage(options));
  used = firstOf(connection, options);
  try {
    return open(connection);
  } catch (error) {
    if (!(error instanceof stores.StorageSettingsError)) throw error;
    const option = error.code === 'ContainerNameInvalid' ? 'container' : 'storage';
    if (options[option] === undefined) throw error;
    const message = option === 'storage' ? error.message.replace(SERVICE_URI, 'the URL') : error.message;
    throw new UsageError(`--${option}: ${message}`);
  }
}

function timed({ settings, container }: Pick<Connection, 'settings' | 'container'>): TimedConnection {
  const isIdentity = Object.entries(settings).some(
    ([name, value]) => name.endsWith('__blobServiceUri') && Boolean(value),
  );
  const callTimeoutMs = isIdentity ? IDENTITY_TIMEOUT_MS : CALL_TIMEOUT_MS;
  return { settings, container, clock: systemClock, callTimeoutMs };
}

/** The settings for `--storage`. An app's identity settings in the environment do not apply to a person. */
function named(storage: string): Settings {
  const isUrl = /^https?:\/\//i.test(storage.trim());
  if (stores.isStoreUrl(storage) || (!isUrl && storage.includes('='))) return { [SETTING]: storage };
  if (!isUrl) {
    // The message does not repeat the value, which may be a key.
    throw new UsageError(
      '--storage must be a connection string, such as "UseDevelopmentStorage=true", or the URL of a store, such as ' +
        'https://ACCOUNT.blob.core.windows.net or postgres://USER@HOST/DATABASE',
    );
  }
  const url = URL.parse(storage.trim());
  if (url !== null && /\.blob\./.test(url.hostname) && url.pathname !== '/') {
    const container = url.pathname.split('/')[1] ?? '';
    throw new UsageError(
      `--storage: the URL names more than a service; use --storage ${url.origin} --container ${container}`,
    );
  }
  return { [SERVICE_URI]: storage };
}

/** The cluster of `cronlease dev` in the current folder, if the command line and the environment name no storage. */
export function devStorage({ storage }: StorageOptions): DevFile | undefined {
  return storage === undefined && !isSet(process.env) ? readDevFile('.') : undefined;
}

/** Within what time all deployments have seen a manual run or another change. */
export function withinSweep(options: StorageOptions): string {
  const sweepInterval = devStorage(options)?.sweepInterval;
  return sweepInterval === undefined ? 'within CRONLEASE_SWEEP_INTERVAL (60 s by default)' : `within ${sweepInterval}`;
}

function isSet(env: NodeJS.ProcessEnv): boolean {
  return Object.entries(env).some(
    ([name, value]) =>
      (name === SETTING || name === 'CRONLEASE_SHARDS' || name.startsWith(`${SETTING}__`)) && Boolean(value),
  );
}

function whichStorage(options: StorageOptions): { readonly settings: Settings; readonly container: string } {
  const { env } = process;
  const dev = devStorage(options);
  const container =
    options.container ?? (env['CRONLEASE_CONTAINER'] || undefined) ?? dev?.container ?? stores.DEFAULT_CONTAINER;
  if (options.storage !== undefined) return { settings: named(options.storage), container };
  if (dev !== undefined) return { settings: { [SETTING]: dev.storage }, container };
  if (isSet(env)) return { settings: env, container };
  throw new CliError(
    'NoStorage',
    'no storage is named. Name it in one of three ways: --storage with a connection string, or with the URL of a ' +
      'blob service if you are signed in to Azure; the environment variable ' +
      `${SETTING} (a connection string or postgres://…) or ${SETTING}__blobServiceUri (a URL, for an identity); or run "cronlease dev" ` +
      'in this folder, and its storage is used.',
  );
}
