import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { ElectionStore, LeaseStore, RowStore } from '../lease/store';
import type { Trial } from '../lease/trial';
import type { Settings } from './azure-blob/connection';
import { callerOf, connectContainer } from './azure-blob/connection';
import type { RowContainer } from './azure-blob/row-container';
import { azureBlobElectionRows, azureBlobElections, azureBlobStore } from './azure-blob/store';
import { azureBlobTrial } from './azure-blob/trial';

export type { Settings } from './azure-blob/connection';
export { CONTAINER_NAME_RULE, DEFAULT_CONTAINER, isContainerName, StorageSettingsError } from './azure-blob/connection';

/**
 * The storage that an app's settings name. Only this file picks a store by its connection setting. Today every setting
 * names Azure Blob Storage.
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
}

/**
 * Opens the store of jobs. It makes no call.
 *
 * @throws StorageSettingsError
 */
export function openStore(connection: Connection): LeaseStore {
  return azureBlobStore(connected(connection));
}

/**
 * Opens the rows of all elections in the same place. It makes no call.
 *
 * @throws StorageSettingsError
 */
export function openElectionStore(connection: Connection): ElectionStore {
  return azureBlobElectionRows(connected(connection));
}

/** The rows of elections in the container of a program's own client. */
export function electionRowsIn(container: RowContainer, clock: Clock): RowStore {
  return azureBlobElections(container, clock);
}

/**
 * Tries each kind of call that coordination makes once, on an object of its own, to find the caller's permissions.
 *
 * @param id a new GUID
 * @throws StorageSettingsError
 */
export function tryStorage(connection: Connection & { readonly callTimeoutMs: Millis }, id: string): Promise<Trial> {
  const { settings, callTimeoutMs } = connection;
  return azureBlobTrial({ ...connected(connection), callTimeoutMs, id, whoCalls: () => callerOf(settings) });
}

function connected({ settings, container, clock, callTimeoutMs }: Connection) {
  return {
    ...{ container: connectContainer(settings, container), clock },
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
  };
}
