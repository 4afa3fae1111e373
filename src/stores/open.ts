import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { isSameAccount } from '../core/shards';
import type { CallOutcome } from '../core/storage-call';
import { ELECTION_METHODS, STORE_METHODS } from '../lease/methods';
import { type SecondAudit, withSecondAudit } from '../lease/second-audit';
import {
  type ElectionStore,
  type LeaseBreaking,
  type LeaseStore,
  type Retention,
  type RowStore,
  StoreUnavailableError,
} from '../lease/store';
import type { Trial } from '../lease/trial';
import type { Identity } from './azure-blob/caller';
import {
  DEFAULT_CONTAINER,
  REFERENCE_REMEDY,
  type Settings,
  StorageSettingsError,
  callerOf,
  checkStorageName,
  connectContainer,
  isReference,
  settingsOf,
  tokenOf,
} from './azure-blob/connection';
import type { RowContainer } from './azure-blob/row-container';
import { azureBlobElectionRows, azureBlobElections, azureBlobStore } from './azure-blob/store';
import { azureBlobTrial } from './azure-blob/trial';
import { agentsOf, isConsul } from './consul/settings';
import { clusterOf, isEtcd } from './etcd/settings';
import { type Exposure, checkExposure, exposedTo, withoutInsecure } from './exposure';
import { STORE_LIMITS } from './limits';
import { databaseOf, isPostgres } from './postgres/settings';
import type { PostgresStoreOptions } from './postgres/store';
import { isRedis, serverOf } from './redis/settings';
import { ensembleOf, isZooKeeper } from './zookeeper/settings';

export type { Identity } from './azure-blob/caller';
export type { Settings } from './azure-blob/connection';
export {
  CONTAINER_NAME_RULE,
  DEFAULT_CONTAINER,
  isContainerName,
  isReference,
  REFERENCE_REMEDY,
  StorageSettingsError,
} from './azure-blob/connection';

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
  const other = otherStore(connection);
  return other === undefined ? azureBlobStore(connected(connection)) : other.store();
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
const AUDIT_SETTINGS = [
  AUDIT,
  'CRONLEASE_AUDIT__blobServiceUri',
  'CRONLEASE_AUDIT__credential',
  'CRONLEASE_AUDIT__clientId',
];

/**
 * The second place of audit entries that the settings name, in the container of the same name; undefined: none. Makes no
 * call.
 *
 * @throws StorageSettingsError whose message names the setting
 */
export function openSecondAudit(connection: Connection): SecondAudit | undefined {
  const isSet = AUDIT_SETTINGS.some((name) => Boolean(connection.settings[name]?.trim()));
  return isSet ? openNamed(connection, AUDIT) : undefined;
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
  const other = otherStore(connection);
  return other === undefined ? azureBlobElectionRows(connected(connection)) : other.elections();
}

/** The rows of elections in the container of a program's own client. */
export function electionRowsIn(container: RowContainer, clock: Clock): RowStore {
  return azureBlobElections(container, clock);
}

/**
 * Tries each kind of call that coordination makes once, on its own object, to find the caller's permissions.
 *
 * @param id a new GUID
 * @throws StorageSettingsError
 */
export function tryStorage(connection: Connection & { readonly callTimeoutMs: Millis }, id: string): Promise<Trial> {
  const { settings, callTimeoutMs } = connection;
  const other = otherStore(connection);
  if (other !== undefined) return trialWithExposure(other, id);
  return azureBlobTrial({ ...connected(connection), callTimeoutMs, id, whoCalls: () => callerOf(settings) });
}

async function trialWithExposure({ exposure, trial }: OtherStore, id: string): Promise<Trial> {
  return { ...(await trial(id)), exposed: { message: exposedTo(exposure), remedy: exposure.remedy } };
}

/** The identity of Entra that makes the calls; undefined if a key makes them, or no token is available. */
export async function identityOf({ settings }: Connection): Promise<Identity | undefined> {
  return isStoreUrl(settings['CRONLEASE_STORAGE'] ?? '') ? undefined : callerOf(settings);
}

/** Whether the text names a store by its own URL. */
export function isStoreUrl(text: string): boolean {
  return OTHERS.some(({ isNamedBy }) => isNamedBy(text));
}

/** A store beside blobs. Its adapter and its client are loaded at the first call. */
interface OtherStore {
  readonly exposure: Exposure;
  store(): LeaseStore;
  elections(): ElectionStore;
  trial(id: string): Promise<Trial>;
}

interface Other {
  readonly isNamedBy: (text: string) => boolean;
  /** Of tokens for this store on Azure; undefined: it takes none. */
  readonly scope: string | undefined;
  readonly open: (url: string, place: Place) => OtherStore;
}

/** Where in a store, and how to ask it. */
interface Place extends Omit<PostgresStoreOptions, 'database' | 'schema'> {
  readonly container: string;
}

/** The stores by their URLs: a line for each. */
const OTHERS: readonly Other[] = [
  { isNamedBy: isPostgres, scope: 'https://ossrdbms-aad.database.windows.net/.default', open: postgres },
  { isNamedBy: isRedis, scope: 'https://redis.azure.com/.default', open: redis },
  { isNamedBy: isZooKeeper, scope: undefined, open: zooKeeper },
  { isNamedBy: isEtcd, scope: undefined, open: etcd },
  { isNamedBy: isConsul, scope: undefined, open: consul },
];

function otherStore(connection: Connection): OtherStore | undefined {
  const { settings, container = DEFAULT_CONTAINER, clock, callTimeoutMs = CALL_TIMEOUT_MS, onOutcome } = connection;
  const text = settings['CRONLEASE_STORAGE']?.trim() ?? '';
  const other = OTHERS.find(({ isNamedBy }) => isNamedBy(text));
  if (other === undefined) {
    checkScheme(text);
    return undefined;
  }
  checkStorageName(settings, container);
  const token = other.scope === undefined ? undefined : tokenOf(settings, other.scope);
  const { url, isAllowed } = withoutInsecure(text);
  const opened = other.open(url, { container, clock, callTimeoutMs, onOutcome, token });
  checkExposure(opened.exposure, { isAllowed, hasToken: token !== undefined });
  return opened;
}

/** A connection string of a storage account has no scheme. */
function checkScheme(text: string): void {
  if (isReference(text)) {
    throw new StorageSettingsError(
      'ConnectionStringInvalid',
      `CRONLEASE_STORAGE is ${JSON.stringify(text)}, which Azure could not resolve: ${REFERENCE_REMEDY}.`,
    );
  }
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
  if (scheme === undefined || /^https?:/i.test(scheme)) return;
  throw new StorageSettingsError(
    'ConnectionStringInvalid',
    `CRONLEASE_STORAGE begins with ${scheme}, which no store here uses: docs/reference/stores.md lists the stores.`,
  );
}

function postgres(url: string, { container: schema, ...place }: Place): OtherStore {
  const database = databaseOf(url);
  const options = { ...place, schema, database };
  const load = () => import('./postgres/store.js');
  return later(`${database.location}/${schema}`, database.exposure, {
    store: async () => (await load()).postgresStore(options),
    elections: async () => (await load()).postgresElections(options),
    trial: async (id) => (await load()).postgresTrial(options, id),
  });
}

function redis(url: string, place: Place): OtherStore {
  const server = serverOf(url);
  const options = { ...place, server };
  const load = () => import('./redis/store.js');
  return later(`${server.location}/${place.container}`, exposureOf([server.host], server, 'rediss'), {
    store: async () => (await load()).redisStore(options),
    elections: async () => (await load()).redisElections(options),
    trial: async (id) => (await load()).redisTrial(options, id),
  });
}

function zooKeeper(url: string, place: Place): OtherStore {
  const ensemble = ensembleOf(url);
  const { container, clock, callTimeoutMs, onOutcome } = place;
  const options = { container, clock, callTimeoutMs, onOutcome, ensemble };
  const load = () => import('./zookeeper/store.js');
  return later(`${ensemble.location}/${place.container}`, exposureOf(hostsOf(ensemble.servers), ensemble, 'zks'), {
    store: async () => (await load()).zooKeeperStore(options),
    elections: async () => (await load()).zooKeeperElections(options),
    trial: async (id) => (await load()).zooKeeperTrial(options, id),
  });
}

function etcd(url: string, place: Place): OtherStore {
  const server = clusterOf(url);
  const options = { ...place, server };
  const load = () => import('./etcd/store.js');
  return later(`${server.location}/${place.container}`, exposureOf(hostsOf(server.members), server, 'etcds'), {
    store: async () => (await load()).etcdStore(options),
    elections: async () => (await load()).etcdElections(options),
    trial: async (id) => (await load()).etcdTrial(options, id),
  });
}

function consul(url: string, place: Place): OtherStore {
  const agents = agentsOf(url);
  const options = { ...place, agents };
  const load = () => import('./consul/store.js');
  return later(`${agents.location}/${place.container}`, exposureOf(hostsOf(agents.members), agents, 'consuls'), {
    store: async () => (await load()).consulStore(options),
    elections: async () => (await load()).consulElections(options),
    trial: async (id) => (await load()).consulTrial(options, id),
  });
}

function exposureOf(hosts: readonly string[], { tls }: { readonly tls: object | undefined }, scheme: string): Exposure {
  return { hosts, tls: tls === undefined ? 'none' : 'verified', remedy: `use ${scheme}://` };
}

function hostsOf(members: readonly { readonly host: string }[]): readonly string[] {
  return members.map(({ host }) => host);
}

interface Adapter {
  store(): Promise<LeaseStore & LeaseBreaking & Retention>;
  elections(): Promise<ElectionStore>;
  trial(id: string): Promise<Trial>;
}

/** Loads the adapter at the first call: an app that uses another one neither reads nor installs it. */
function later(location: string, exposure: Exposure, { store, elections, trial }: Adapter): OtherStore {
  const facts = { location, limits: STORE_LIMITS };
  return {
    store: () => deferred<LeaseStore & LeaseBreaking & Retention>(facts, STORE_METHODS, store),
    elections: () => deferred(facts, ELECTION_METHODS, elections),
    exposure,
    trial,
  };
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

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * A store whose adapter is loaded at the first call: an app that uses another one neither reads nor installs it.
 *
 * @param load its errors count as storage that cannot be reached
 */
function deferred<Store extends Facts>(
  facts: Facts,
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
        `${facts.location}: the adapter of this store cannot be loaded: ${problem}. A deployed package has it only if it ` +
          'was made with "npm run package -- --store NAME".',
        { cause },
      );
    }
  };
  const calls = methods.map((name): [string, AnyMethod] => [
    name,
    async (...args) => ((await store())[name] as AnyMethod)(...args),
  ]);
  return { ...facts, ...Object.fromEntries(calls) } as Facts & Record<string, AnyMethod> as Store;
}
