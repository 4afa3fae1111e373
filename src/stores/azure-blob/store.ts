import type { ContainerClient } from '@azure/storage-blob';
import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import {
  type CallOptions,
  type ControlStore,
  type ElectionStore,
  type LeaseBreaking,
  type LeaseStore,
  type ListedRow,
  type Retention,
  type RowStore,
  StoreDeniedError,
} from '../../lease/store';
import { pagesOf } from '../../lease/pages';
import { facetsIn, logsIn } from '../facets/facets';
import { breakingIn, rowsIn } from '../facets/rows';
import { STORE_LIMITS } from '../limits';
import type { Rows } from '../port';
import { type Ask, asker, NO } from './ask';
import { EMULATOR } from './connection';
import { entriesIn, logsIn as appendBlobs } from './entries';
import { gatherer, listerOfAll, type Pages } from './list-all';
import { electionRow, ELECTIONS_PREFIX, FOLDERS, foldersOf, jobPrefix, parseElectionRow, partName } from './layout';
import { type AskPage, page, pageAsker, rowOf } from './listing';
import { retentionIn } from './retention';
import type { RowContainer } from './row-container';
import { rowsAt } from './rows';

const DEFAULT_CALL_TIMEOUT_MS = 10_000;
/** The service's largest page. The emulator hangs on pages of more than 500. */
const PAGE_SIZE = { service: 5000, emulator: 500 };
/** The emulator answers one request at a time: more listings at once would only delay other calls. */
const PAGES_AT_ONCE = { service: 8, emulator: 1 };

interface AzureBlobStoreOptions {
  /** Made by `connectContainer`, or with `retryOptions: { maxTries: 1 }`. */
  readonly container: ContainerClient;
  /** Measures the time limit of each call. */
  readonly clock: Clock;
  /** A call without an answer fails after this long. Default: 10 s. */
  readonly callTimeoutMs?: Millis;
  /** The most blobs on one page of a listing. Default: 5,000, and 500 on the emulator, which hangs on larger pages. */
  readonly pageSize?: number;
  /** How many pages of one listing are requested at the same time. Default: 8, and 1 on the emulator. */
  readonly pagesAtOnce?: number;
}

/**
 * The rows, controls, ledger and logs in a container of Azure Blob Storage. Each method makes one HTTP request. A listing
 * makes one for each page, and `prepare` a second one if it may not create containers.
 */
export function azureBlobStore({
  container,
  clock,
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
  pageSize = PAGE_SIZE[serverOf(container)],
  pagesAtOnce = PAGES_AT_ONCE[serverOf(container)],
}: AzureBlobStoreOptions): LeaseStore & LeaseBreaking & Retention {
  const location = container.url.split('?', 1)[0] ?? '';
  const ask = asker({ location, clock, callTimeoutMs });
  const askPage = pageAsker(container, ask, pageSize);
  const facets = facetsIn(entriesIn(container, ask, askPage), foldersOf);
  return {
    location,
    limits: STORE_LIMITS,
    prepare: (options) => prepare(container, ask, location, options),
    ...rowsIn(rowsAt(container, ask, (job) => partName(job, 'lease'))),
    ...breakingIn(breaksIn(container, ask)),
    list: listerOf({ askPage, pageSize, pagesAtOnce }, facets.readControl),
    ...facets,
    ...logsIn(appendBlobs(container, ask, askPage), foldersOf),
    ...retentionIn(container, ask, askPage, clock),
  };
}

function serverOf({ accountName }: ContainerClient): 'emulator' | 'service' {
  return accountName === EMULATOR.account ? 'emulator' : 'service';
}

/**
 * The rows of elections, beside those of jobs or in their own container. A program may pass its own container client:
 * the call's time limit also cuts off the client's retries.
 */
export function azureBlobElections(container: RowContainer, clock: Clock): RowStore {
  const location = container.url.split('?', 1)[0] ?? '';
  const ask = asker({ location, clock, callTimeoutMs: DEFAULT_CALL_TIMEOUT_MS });
  return {
    location,
    limits: STORE_LIMITS,
    async prepare(options) {
      try {
        await createContainer(container, ask, options);
      } catch (error) {
        // The first read of a row shows whether the container exists.
        if (!(error instanceof StoreDeniedError)) throw error;
      }
    },
    ...rowsIn(rowsAt(container, ask, electionRow)),
  };
}

/** Like {@link azureBlobElections}, in the coordination container, for operators. */
export function azureBlobElectionRows({
  container,
  clock,
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
  pageSize = PAGE_SIZE[serverOf(container)],
}: AzureBlobStoreOptions): ElectionStore {
  const rows = azureBlobElections(container, clock);
  const ask = asker({ location: rows.location, clock, callTimeoutMs });
  const askPage = pageAsker(container, ask, pageSize);
  return { ...rows, listRows: (options) => listElections(askPage, options) };
}

async function listElections(
  askPage: AskPage,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const rows = new Map<JobName, ListedRow>();
  const request = { prefix: ELECTIONS_PREFIX };
  for await (const { blobs } of pagesOf((from) => askPage('list elections', { ...request, ...from }, options))) {
    for (const blob of blobs) {
      const name = parseElectionRow(blob.name);
      if (name !== undefined) rows.set(name, rowOf(blob));
    }
  }
  return rows;
}

async function createContainer(
  container: Pick<RowContainer, 'create'>,
  ask: Ask,
  options: CallOptions | undefined,
): Promise<void> {
  const question = { what: 'create the container', no: ['ContainerAlreadyExists'], options };
  await ask(question, (abortSignal) => container.create({ abortSignal }));
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
    // Uses a listing, which every coordinator must be allowed. A SAS cannot read the container's properties.
    const question = { what: 'look for the container', no: ['ContainerNotFound'], options };
    const { kind } = await ask(question, (abortSignal) =>
      page(container, { prefix: FOLDERS.controls, limit: 1 }, abortSignal),
    );
    if (kind === 'yes') return;
    throw new StoreDeniedError(
      `${location}: there is no such container, and this app may not create it. Create it, or give the app permission to do so.`,
      { cause },
    );
  }
}

/** Lists jobs with their controls, whose blobs are beside their rows. */
function listerOf(pages: Pages, readControl: ControlStore['readControl']): LeaseStore['list'] {
  const listAll = listerOfAll(pages, readControl);
  return async (options) => {
    if (options?.job === undefined) return listAll(options);
    const gathered = gatherer();
    const request = { prefix: jobPrefix(options.job) };
    for await (const page of pagesOf((from) => pages.askPage('list jobs', { ...request, ...from }, options))) {
      gathered.page(page);
      // Blobs after the job's row belong to other jobs.
      if ((page.blobs.at(-1)?.name ?? '') >= partName(options.job, 'lease')) break;
    }
    return gathered.listing();
  };
}

function breaksIn(container: ContainerClient, ask: Ask): Pick<Rows, 'break'> {
  return {
    async break({ job, ...question }, ifMatch) {
      const client = container.getBlobClient(partName(job, 'lease')).getBlobLeaseClient();
      // The lease ends after its remaining time if that is shorter. Without a period, the service would end an endless
      // lease at once.
      const answer = await ask({ ...question, no: NO.lease }, (abortSignal) =>
        client.breakLease(STORE_LIMITS.leaseMs.most / 1000, { conditions: { ifMatch }, abortSignal }),
      );
      return answer.kind === 'no' ? undefined : (answer.value.leaseTime ?? 0) * 1000;
    },
  };
}
