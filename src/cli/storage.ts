import { randomUUID } from 'node:crypto';
import { formatDuration } from '../core/duration';
import { readDevFile } from '../local/cluster/dev-file';
import type { ElectionStore, LeaseStore } from '../lease/store';
import type { Trial } from '../lease/trial';
import type { Desk } from '../operator/take-lease';
import { connectContainer, DEFAULT_CONTAINER, StorageSettingsError } from '../stores/azure-blob/connection';
import type { Settings } from '../stores/azure-blob/connection';
import { azureBlobElectionRows, azureBlobStore } from '../stores/azure-blob/store';
import { azureBlobTrial } from '../stores/azure-blob/trial';
import { systemClock } from '../system-clock';

import { CliError, UsageError } from './cli-error';
import { warn } from './output';

export interface StorageOptions {
  /** Connection string. */
  readonly storage?: string | undefined;
  readonly container?: string | undefined;
}

/** A person waits. */
const CALL_TIMEOUT_MS = 8_000;
const SETTING = 'CRONLEASE_STORAGE';

/**
 * The coordination container that the command line names, or else the environment, or else a cluster of
 * `cronlease dev` that runs in the current folder. Makes no call.
 */
export function openStore(options: StorageOptions): LeaseStore {
  return azureBlobStore(openContainer(options));
}

/** Tries out what whoever calls may do there. */
export function tryStorage(options: StorageOptions): Promise<Trial> {
  return azureBlobTrial({ ...openContainer(options), id: randomUUID() });
}

/** For commands that take leases. */
export function openDesk(options: StorageOptions): Desk {
  const waiting: Desk['waiting'] = (why, ms) => warn(`${why}: waits for ${formatDuration(ms)}`);
  return { store: openStore(options), clock: systemClock, newId: randomUUID, waiting };
}

/** As {@link openDesk}, for the elections in the same container. */
export function openElections(options: StorageOptions): Desk<ElectionStore> {
  return { ...openDesk(options), store: azureBlobElectionRows(openContainer(options)) };
}

function openContainer(options: StorageOptions) {
  const { settings, container } = whichStorage(options);
  try {
    return {
      container: connectContainer(settings, container),
      clock: systemClock,
      callTimeoutMs: CALL_TIMEOUT_MS,
    };
  } catch (error) {
    if (!(error instanceof StorageSettingsError)) throw error;
    if (error.code === 'ContainerNameInvalid' && options.container !== undefined) {
      throw new UsageError(`--container: ${error.message}`);
    }
    if (error.code !== 'ContainerNameInvalid' && options.storage !== undefined) {
      throw new UsageError(`--storage: ${error.message}`);
    }
    throw error;
  }
}

function whichStorage(options: StorageOptions): { readonly settings: Settings; readonly container: string } {
  const { env } = process;
  const container = options.container ?? (env['CRONLEASE_CONTAINER'] || undefined);
  if (options.storage !== undefined) {
    return { settings: { [SETTING]: options.storage }, container: container ?? DEFAULT_CONTAINER };
  }
  const isSet = Object.entries(env).some(
    ([name, value]) => (name === SETTING || name.startsWith(`${SETTING}__`)) && value,
  );
  if (isSet) return { settings: env, container: container ?? DEFAULT_CONTAINER };
  const dev = readDevFile('.');
  if (dev !== undefined) return { settings: { [SETTING]: dev.storage }, container: container ?? dev.container };
  throw new CliError(
    'NoStorage',
    'no storage is named. Name it in one of three ways: --storage CONNECTION_STRING; the environment variable ' +
      `${SETTING} (a connection string) or ${SETTING}__blobServiceUri (a URL, for an identity); or run "cronlease dev" ` +
      'in this folder, whose storage is then used.',
  );
}
