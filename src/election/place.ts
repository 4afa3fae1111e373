import type { Clock } from '../core/clock';
import type { RowStore } from '../lease/store';
import type { RowContainer } from '../stores/azure-blob/row-container';
import { electionRowsIn, openElectionStore, StorageSettingsError } from '../stores/open';

/** The place of an election's row: all candidates name the same one. */
export type ElectionPlace =
  | {
      /** A `ContainerClient` of `@azure/storage-blob`. A missing container is created if permissions allow it. */
      readonly container: RowContainer;
      readonly storage?: undefined;
    }
  | {
      /** A store, as `CRONLEASE_STORAGE` names it: `postgres://…`, or a connection string of a storage account. */
      readonly storage: string;
      /**
       * The name of the container, or of the schema in PostgreSQL. It is created if it is missing and permissions allow
       * that. Default: `cronlease`.
       */
      readonly container?: string;
    };

/**
 * Opens the rows. It makes no call.
 *
 * @throws StorageSettingsError
 */
export function openRows({ storage, container }: ElectionPlace, clock: Clock): RowStore {
  if (storage === undefined) return electionRowsIn(container, clock);
  return openElectionStore({ settings: { CRONLEASE_STORAGE: storage }, container, clock });
}

/** The options as callers without types may pass them. */
interface Given {
  readonly container?: unknown;
  readonly storage?: unknown;
}

/**
 * @param show returns a value as a message may contain it
 * @returns undefined if {@link openRows} can open this place
 */
export function problemOfPlace(
  { container, storage }: Given,
  show: (value: unknown) => string,
  clock: Clock,
): string | undefined {
  if (storage === undefined) return problemOfClient(container, show);
  // Any part of a connection string may be its key.
  if (typeof storage !== 'string' || storage.trim() === '') {
    return `storage is ${typeof storage === 'string' ? 'empty' : show(storage)}: use a connection string, or the URL of a store such as "postgres://…"`;
  }
  if (isContainer(container)) {
    return 'container is a ContainerClient, and storage names a place too: leave one of them out';
  }
  if (container !== undefined && typeof container !== 'string') {
    return `container is ${show(container)}: beside storage, use the name of a container`;
  }
  try {
    openRows({ storage, ...(container !== undefined && { container }) }, clock);
    return undefined;
  } catch (error) {
    if (!(error instanceof StorageSettingsError)) throw error;
    return error.code === 'ContainerNameInvalid' ? `container ${error.message}` : error.of('storage').message;
  }
}

function problemOfClient(container: unknown, show: (value: unknown) => string): string | undefined {
  if (isContainer(container)) return undefined;
  const remedy = 'use a ContainerClient of @azure/storage-blob';
  // A text may be a connection string with its key.
  if (typeof container === 'string') {
    return `container is a text: ${remedy}, or give the store as storage, and here the name of its container`;
  }
  return `container is ${show(container)}: ${remedy}, or give the store as storage, such as "postgres://…"`;
}

/** A client is an instance of a class, so its methods are not own members. */
function isContainer(value: unknown): value is RowContainer {
  return (
    typeof value === 'object' &&
    value !== null &&
    'url' in value &&
    typeof value.url === 'string' &&
    'getBlockBlobClient' in value &&
    typeof value.getBlockBlobClient === 'function'
  );
}
