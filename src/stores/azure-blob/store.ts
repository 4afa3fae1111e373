import type { ContainerClient } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import {
  type CallOptions,
  type ElectionStore,
  type LeaseStore,
  type RowStore,
  StoreDeniedError,
} from '../../lease/store';
import { type Ask, asker } from './ask';
import { listElections, listingCalls, page } from './listing';
import { electionRow, JOBS_PREFIX, partName } from './layout';
import { operatorCalls } from './operator';
import { recordCalls } from './records';
import type { RowContainer } from './row-container';
import { rowCalls } from './rows';

const DEFAULT_CALL_TIMEOUT_MS = 10_000;
/** The emulator stands still over larger ones. */
const DEFAULT_PAGE_SIZE = 500;

interface AzureBlobStoreOptions {
  /** Made by `connectContainer`, or otherwise with `retryOptions: { maxTries: 1 }`. */
  readonly container: ContainerClient;
  /** Measures the time limit of each call. */
  readonly clock: Clock;
  /** A call that has no answer after this long has failed. 10 s by default. */
  readonly callTimeoutMs?: Millis;
  /** Most blobs in one page of a listing. 500 by default: the emulator stands still over larger ones. */
  readonly pageSize?: number;
}

/**
 * The rows, controls and ledger in a container of Azure Blob Storage. Each method makes one HTTP request (a listing
 * one for each page; `prepare` a second one where it may not create containers).
 */
export function azureBlobStore({
  container,
  clock,
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
  pageSize = DEFAULT_PAGE_SIZE,
}: AzureBlobStoreOptions): LeaseStore {
  const location = container.url.split('?', 1)[0] ?? '';
  const ask = asker({ location, clock, callTimeoutMs });
  return {
    location,
    prepare: (options) => prepare(container, ask, location, options),
    ...rowCalls(container, ask, (job) => partName(job, 'lease')),
    ...recordCalls(container, ask),
    ...listingCalls(container, ask, pageSize),
    ...operatorCalls(container, ask),
  };
}

/**
 * The rows of elections, beside those of jobs or in a container of their own. It may be whatever container client a
 * program has: what its own retries take is cut off by the time limit of the call.
 */
export function azureBlobElections(container: RowContainer, clock: Clock): RowStore {
  const location = container.url.split('?', 1)[0] ?? '';
  const ask = asker({ location, clock, callTimeoutMs: DEFAULT_CALL_TIMEOUT_MS });
  return {
    location,
    async prepare(options) {
      try {
        await createContainer(container, ask, options);
      } catch (error) {
        // Whether it is there is seen as soon as a row is read.
        if (!(error instanceof StoreDeniedError)) throw error;
      }
    },
    ...rowCalls(container, ask, electionRow),
  };
}

/** As {@link azureBlobElections}, for operators: of the coordination container. */
export function azureBlobElectionRows({
  container,
  clock,
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
  pageSize = DEFAULT_PAGE_SIZE,
}: AzureBlobStoreOptions): ElectionStore {
  const rows = azureBlobElections(container, clock);
  const ask = asker({ location: rows.location, clock, callTimeoutMs });
  return { ...rows, listRows: (options) => listElections(container, ask, pageSize, options) };
}

async function createContainer(
  container: Pick<RowContainer, 'create'>,
  ask: Ask,
  options: CallOptions | undefined,
): Promise<void> {
  await ask({
    what: 'create the container',
    no: ['ContainerAlreadyExists'],
    options,
    send: (abortSignal) => container.create({ abortSignal }),
  });
}

async function prepare(
  container: ContainerClient,
  ask: Ask,
  location: string,
  options: CallOptions | undefined,
): Promise<void> {
  try {
    await createContainer(container, ask, options);
  } catch (cause) {
    if (!(cause instanceof StoreDeniedError)) throw cause;
    // A listing, since whoever coordinates must be allowed that; a SAS may not read the container's properties.
    const { kind } = await ask({
      what: 'look for the container',
      no: ['ContainerNotFound'],
      options,
      send: (abortSignal) => page(container, { prefix: JOBS_PREFIX, limit: 1 }, abortSignal),
    });
    if (kind === 'yes') return;
    throw new StoreDeniedError(
      `${location}: there is no such container, and this app may not create it. Create it, or let the app do it.`,
      { cause },
    );
  }
}
