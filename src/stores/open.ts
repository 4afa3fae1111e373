import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { isSameAccount } from '../core/layout';
import type { CallOutcome } from '../core/storage-call';
import { type SecondAudit, withSecondAudit } from '../lease/second-audit';
import {
  type AnyMethod,
  ELECTION_METHODS,
  type ElectionStore,
  type LeaseStore,
  type RowStore,
  STORE_METHODS,
  StoreUnavailableError,
} from '../lease/store';
import type { Trial } from '../lease/trial';
import type { Adapter, AdapterOptions } from './adapter';
import {
  callerOf,
  checkStorageName,
  connectContainer,
  DEFAULT_CONTAINER,
  type Identity,
  isReference,
  REFERENCE_REMEDY,
  type Settings,
  settingsOf,
  tokenOf,
} from './azure-blob/connection';
import { azureBlobElectionRows, azureBlobStore } from './azure-blob/store';
import { azureBlobTrial } from './azure-blob/trial';
import { checkExposure, exposedTo, type NamedServer, withoutInsecure } from './exposure';
import { agentsOf, clusterOf, ensembleOf, isConsul, isEtcd, isZooKeeper } from './http/url';
import { STORE_LIMITS } from './limits';
import { databaseOf, isPostgres, scopeOf } from './postgres/settings';
import { isRedis, serverOf } from './redis/settings';
import { StorageSettingsError } from './settings-error';

export type { Identity, Settings } from './azure-blob/connection';
export {
  CONTAINER_NAME_RULE,
  DEFAULT_CONTAINER,
  isContainerName,
  isReference,
  REFERENCE_REMEDY,
} from './azure-blob/connection';
/** The rows of elections in the container of a program's own client. */
export { azureBlobElections as electionRowsIn } from './azure-blob/store';
export { StorageSettingsError } from './settings-error';

/** The limit of a call to a store beside blobs, which have their own. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * The storage that an app's settings name. Only this file picks a store by its connection setting: `CRONLEASE_STORAGE`
 * with a URL of another store names that, and everything else names Azure Blob Storage.
 */
export interface Connection {
  /** The environment, with `CRONLEASE_STORAGE` or the settings that begin with it. */
  readonly settings: Settings;
  /** Undefined: the default container. */
  readonly container: string | undefined;
  /** Measures the time limit of each call. */
  readonly clock: Clock;
  /** Undefined: the store's own limit. */
  readonly callTimeoutMs?: Millis;
  /** Receives each call once it is over. */
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

/**
 * Opens the store of jobs. It makes no call.
 *
 * @throws StorageSettingsError
 */
export function openStore(connection: Connection): LeaseStore {
  const other = openOther(connection);
  if (other === undefined) return azureBlobStore(connected(connection));
  return deferred<Adapter['store']>(other, STORE_METHODS, async () => (await other.adapter()).store);
}

/**
 * Opens a store for each of the connections, by the names of their settings: `CRONLEASE_STORAGE` is one of the usual
 * form. It makes no call.
 *
 * @throws StorageSettingsError whose message names the connection
 */
export function openShards(connection: Connection, names: readonly string[]): readonly LeaseStore[] {
  const opened: LeaseStore[] = [];
  for (const name of names) {
    const store = openNamed(connection, name);
    const index = opened.findIndex(({ location }) => isSameAccount(location, store.location));
    if (index !== -1) {
      const message = `${names[index] ?? ''} and ${name} are the same place, ${store.location}: name each account once.`;
      throw new StorageSettingsError('StorageSetTwice', message);
    }
    opened.push(store);
  }
  return opened;
}

const AUDIT = 'CRONLEASE_AUDIT';
const AUDIT_URI = 'CRONLEASE_AUDIT__blobServiceUri';
const AUDIT_SETTINGS = [
  AUDIT,
  AUDIT_URI,
  'CRONLEASE_AUDIT__credential',
  'CRONLEASE_AUDIT__clientId',
  'CRONLEASE_AUDIT__managedIdentityResourceId',
];

/**
 * The settings of the second place that are not empty. A member of the connection that is not read, or whose name is
 * misspelt, counts too: the place must not be left out without a word.
 */
function auditSettings(settings: Settings): readonly string[] {
  return Object.keys(settings).filter((name) => /^CRONLEASE_AUDIT(_|$)/i.test(name) && Boolean(settings[name]?.trim()));
}

/**
 * The second place of audit entries that the settings name, in the container of the same name; undefined: none. Makes no
 * call.
 *
 * @throws StorageSettingsError whose message names the setting
 */
export function openSecondAudit(connection: Connection): SecondAudit | undefined {
  const { settings } = connection;
  const names = auditSettings(settings);
  if (names.length === 0) return undefined;
  // Windows reads settings in any case.
  const isNamed = Boolean(settings[AUDIT] || settings[AUDIT_URI]);
  const other = names.find((name) => !AUDIT_SETTINGS.includes(name));
  if (isNamed || other === undefined) return openNamed(connection, AUDIT);
  throw new StorageSettingsError(
    'StorageNotSet',
    `${other} is set, and is not read: the second place of audit entries is named by ${AUDIT}, or by ${AUDIT_URI}.`,
  );
}

/**
 * The stores, whose audit entries also go to `CRONLEASE_AUDIT` if the settings have it. Makes no call.
 *
 * @throws StorageSettingsError
 */
export function auditedStores(connection: Connection, opened: readonly LeaseStore[]): readonly LeaseStore[] {
  const second = openSecondAudit(connection);
  if (second === undefined) return opened;
  const same = opened.find(({ location }) => isSameAccount(location, second.location));
  if (same !== undefined) {
    const message = `${AUDIT} and the storage of the jobs are the same place, ${same.location}: name another account.`;
    throw new StorageSettingsError('StorageSetTwice', message);
  }
  return opened.map((store) => withSecondAudit(store, second));
}

/** The connection of this name, as if it were the only one. */
export function connectionOf<Any extends Connection>(connection: Any, name: string): Any {
  return { ...connection, settings: settingsOf(connection.settings, name) };
}

function openNamed(connection: Connection, name: string): LeaseStore {
  try {
    return openStore(connectionOf(connection, name));
  } catch (error) {
    throw error instanceof StorageSettingsError ? error.of(name) : error;
  }
}

/**
 * Opens the rows of all elections in the same place. It makes no call.
 *
 * @throws StorageSettingsError
 */
export function openElectionStore(connection: Connection): ElectionStore {
  const other = openOther(connection);
  if (other === undefined) return azureBlobElectionRows(connected(connection));
  return deferred(other, ELECTION_METHODS, async () => (await other.adapter()).elections);
}

/**
 * Tries each kind of call that coordination makes once, on its own object, to find the caller's permissions.
 *
 * @param id a new GUID
 * @throws StorageSettingsError
 */
export async function tryStorage(
  connection: Connection & { readonly callTimeoutMs: Millis },
  id: string,
): Promise<Trial> {
  const { settings, callTimeoutMs } = connection;
  const other = openOther(connection);
  if (other === undefined) {
    return azureBlobTrial({ ...connected(connection), callTimeoutMs, id, whoCalls: () => callerOf(settings) });
  }
  const { exposure } = other.place;
  const trial = await (await other.adapter()).trial(id);
  return { ...trial, exposed: { message: exposedTo(exposure), remedy: exposure.remedy } };
}

/** The identity of Entra that makes the calls; undefined if a key makes them, or no token is available. */
export async function identityOf({ settings }: Connection): Promise<Identity | undefined> {
  return isStoreUrl(settings['CRONLEASE_STORAGE'] ?? '') ? undefined : callerOf(settings);
}

/** Whether the text names a store by its own URL. */
export function isStoreUrl(text: string): boolean {
  return OTHERS.some(({ isNamedBy }) => isNamedBy(text));
}

interface OtherStore {
  readonly isNamedBy: (text: string) => boolean;
  /** @throws StorageSettingsError */
  readonly open: (url: string, options: Opening) => OpenedStore;
}

interface Opening extends Omit<AdapterOptions<NamedServer>, 'server' | 'token'> {
  readonly tokenOf: (scope: string) => AdapterOptions<NamedServer>['token'];
}

interface OpenedStore {
  readonly place: NamedServer;
  readonly hasToken: boolean;
  /** Loads the adapter with its client at the first call: an app that uses another one neither reads nor installs it. */
  readonly adapter: () => Promise<Adapter>;
}

/** The stores by their URLs: a line for each. */
const OTHERS: readonly OtherStore[] = [
  other(isPostgres, databaseOf, async () => (await import('./postgres/store.js')).postgres, scopeOf),
  other(
    isRedis,
    serverOf,
    async () => (await import('./redis/store.js')).redis,
    () => 'https://redis.azure.com/.default',
  ),
  other(isZooKeeper, ensembleOf, async () => (await import('./zookeeper/store.js')).zooKeeper),
  other(isEtcd, clusterOf, async () => (await import('./etcd/store.js')).etcd),
  other(isConsul, agentsOf, async () => (await import('./consul/store.js')).consul),
];

/** @param scopeOf of tokens for this store on Azure; undefined: it takes none */
function other<Server extends NamedServer>(
  isNamedBy: OtherStore['isNamedBy'],
  read: (url: string) => Server,
  load: () => Promise<(options: AdapterOptions<Server>) => Adapter>,
  scopeOf?: (server: Server) => string,
): OtherStore {
  return {
    isNamedBy,
    open(url, { tokenOf, ...options }) {
      const server = read(url);
      const token = scopeOf && tokenOf(scopeOf(server));
      const adapter = async () => (await load())({ ...options, server, token });
      return { place: server, hasToken: token !== undefined, adapter };
    },
  };
}

function openOther(connection: Connection): (OpenedStore & Facts) | undefined {
  const { settings, container = DEFAULT_CONTAINER, clock, callTimeoutMs = CALL_TIMEOUT_MS, onOutcome } = connection;
  const text = settings['CRONLEASE_STORAGE']?.trim() ?? '';
  const found = OTHERS.find(({ isNamedBy }) => isNamedBy(text));
  if (found === undefined) {
    checkScheme(text);
    return undefined;
  }
  checkStorageName(settings, container);
  const { url, isAllowed } = withoutInsecure(text);
  const ofIdentity = (scope: string) => tokenOf(settings, scope);
  const opened = found.open(url, { container, clock, callTimeoutMs, onOutcome, tokenOf: ofIdentity });
  const { exposure, location } = opened.place;
  checkExposure(exposure, { isAllowed, hasToken: opened.hasToken });
  return { ...opened, location: `${location}/${container}`, limits: STORE_LIMITS };
}

/** A connection string of a storage account has no scheme. */
function checkScheme(text: string): void {
  if (isReference(text)) {
    const message = `CRONLEASE_STORAGE is ${JSON.stringify(text)}, which Azure could not resolve: ${REFERENCE_REMEDY}.`;
    throw new StorageSettingsError('ConnectionStringInvalid', message);
  }
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
  if (scheme === undefined || /^https?:/i.test(scheme)) return;
  throw new StorageSettingsError(
    'ConnectionStringInvalid',
    `CRONLEASE_STORAGE begins with ${scheme}, which no store here uses: docs/reference/stores.md lists the stores.`,
  );
}

function connected({ settings, container, clock, callTimeoutMs, onOutcome }: Connection) {
  const meter = onOutcome === undefined ? undefined : { clock, onOutcome };
  return {
    container: connectContainer(settings, container, { meter, clock }),
    clock,
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
  };
}

type Facts = Pick<RowStore, 'location' | 'limits'>;

/**
 * A store whose adapter is loaded at the first call: an app that uses another one neither reads nor installs it.
 *
 * @param load its errors count as storage that cannot be reached
 */
function deferred<Store extends Facts>(
  { location, limits }: Facts,
  methods: readonly (keyof Store & string)[],
  load: () => Promise<Store>,
): Store {
  let loaded: Promise<Store> | undefined;
  const store = async (): Promise<Store> => {
    try {
      return await (loaded ??= load());
    } catch (cause) {
      loaded = undefined;
      const problem = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause);
      throw new StoreUnavailableError(
        `${location}: the adapter of this store cannot be loaded: ${problem}. A deployed package has it only if it ` +
          'was made with "npm run package -- --store NAME".',
        { cause },
      );
    }
  };
  const calls = methods.map((name): [string, AnyMethod] => [
    name,
    async (...args) => ((await store())[name] as AnyMethod)(...args),
  ]);
  return { location, limits, ...Object.fromEntries(calls) } as Facts & Record<string, AnyMethod> as Store;
}
