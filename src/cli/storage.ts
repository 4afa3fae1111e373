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
  const names = shardsIn(options);
  return dealtStore(
    names === undefined ? audited(options, [opened(options, stores.openStore)]) : openAccounts(options, names),
  );
}

/** A store for each of these connections, which the environment holds. */
export function openAccounts(options: StorageOptions, names: readonly string[]): readonly LeaseStore[] {
  return audited(
    options,
    opened(options, (connection) => stores.openShards(connection, names)),
  );
}

/** The environment names the second place of audit entries, even if the command line names the storage. */
function audited(options: StorageOptions, opened: readonly LeaseStore[]): readonly LeaseStore[] {
  return stores.auditedStores(auditConnection(options), opened);
}

function auditConnection(options: StorageOptions): Connection {
  return timed({ settings: process.env, container: whichStorage(options).container });
}

/** The second place of audit entries; undefined: there is none. */
export function openSecondAudit(options: StorageOptions): SecondAudit | undefined {
  return stores.openSecondAudit(auditConnection(options));
}

/**
 * The store whose connection a setting of the environment holds, or the settings that begin with its name, with the
 * second place of audit entries.
 *
 * @throws StorageSettingsError
 */
export function openSetting(name: string, container: string | undefined): LeaseStore {
  const place = container ?? (process.env['CRONLEASE_CONTAINER'] || stores.DEFAULT_CONTAINER);
  const connection = timed({ settings: process.env, container: place });
  const [store] = stores.auditedStores(connection, stores.openShards(connection, [name]));
  if (store === undefined) throw new CliError('NoStorage', `${name} names no store`);
  return store;
}

/** The connections over which the jobs are dealt; undefined: the command line names a storage, or there is only one. */
export function shardsIn({ storage }: StorageOptions): readonly string[] | undefined {
  return storage === undefined ? shardNames(process.env, undefined) : undefined;
}

/** Tries out the caller's rights on the storage, in each account. */
export async function tryStorage(options: StorageOptions): Promise<readonly TriedAccount[]> {
  const names = shardsIn(options);
  if (names === undefined) {
    const trial = await opened(options, (connection) => stores.tryStorage(connection, randomUUID()));
    return [{ location: openStore(options).location, trial }];
  }
  const locations = openAccounts(options, names).map(({ location }) => location);
  return opened(options, (connection) =>
    Promise.all(
      names.map(async (name, index) => ({
        location: locations[index] ?? name,
        trial: await stores.tryStorage(stores.connectionOf(connection, name), randomUUID()),
      })),
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
  const [first] = shardsIn(options) ?? [];
  const open = (connection: TimedConnection): ElectionStore =>
    stores.openElectionStore(first === undefined ? connection : stores.connectionOf(connection, first));
  return { ...deskOf(openStore(options)), store: opened(options, open) };
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
  const [first] = shardsIn(options) ?? [];
  used = first === undefined ? connection : stores.connectionOf(connection, first);
  try {
    return open(connection);
  } catch (error) {
    if (!(error instanceof stores.StorageSettingsError)) throw error;
    if (error.code === 'ContainerNameInvalid' && options.container !== undefined) {
      throw new UsageError(`--container: ${error.message}`);
    }
    if (error.code !== 'ContainerNameInvalid' && options.storage !== undefined) {
      throw new UsageError(`--storage: ${error.message.replace(SERVICE_URI, 'the URL')}`);
    }
    throw error;
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
  if (stores.isStoreUrl(storage)) return { [SETTING]: storage };
  if (!/=|^https?:\/\//i.test(storage.trim())) {
    // The message does not repeat the value, which may be a key.
    throw new UsageError(
      '--storage must be a connection string, such as "UseDevelopmentStorage=true", or the URL of a store, such as ' +
        'https://ACCOUNT.blob.core.windows.net or postgres://USER@HOST/DATABASE',
    );
  }
  if (!/^https?:\/\//i.test(storage.trim())) return { [SETTING]: storage };
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
  const container = options.container ?? (env['CRONLEASE_CONTAINER'] || undefined);
  if (options.storage !== undefined) {
    return { settings: named(options.storage), container: container ?? stores.DEFAULT_CONTAINER };
  }
  if (isSet(env)) return { settings: env, container: container ?? stores.DEFAULT_CONTAINER };
  const dev = devStorage(options);
  if (dev !== undefined) return { settings: { [SETTING]: dev.storage }, container: container ?? dev.container };
  throw new CliError(
    'NoStorage',
    'no storage is named. Name it in one of three ways: --storage with a connection string, or with the URL of a ' +
      'blob service if you are signed in to Azure; the environment variable ' +
      `${SETTING} (a connection string or postgres://…) or ${SETTING}__blobServiceUri (a URL, for an identity); or run "cronlease dev" ` +
      'in this folder, and its storage is used.',
  );
}
