import type { BlobItem, ContainerClient } from '@azure/storage-blob';
import type { EpochMs, JobName } from '../../core/brand';
import {
  type CallOptions,
  type LeaseStore,
  type ListedControl,
  type ListedPresence,
  type ListedRow,
  type Metadata,
  StoreUnavailableError,
} from '../../lease/store';
import type { Ask } from './ask';
import {
  ELECTIONS_PREFIX,
  jobPrefix,
  JOBS_PREFIX,
  parseElectionRow,
  parsePartName,
  piecePrefix,
  PRESENCE_PREFIX,
  quoted,
  recordPrefix,
} from './layout';

interface Page {
  readonly items: readonly BlobItem[];
  readonly continuation: string | undefined;
  readonly date?: Date;
}

interface PageRequest {
  readonly prefix: string;
  readonly limit: number;
  readonly continuation?: string | undefined;
}

export function listingCalls(
  container: ContainerClient,
  ask: Ask,
  pageSize: number,
): Pick<LeaseStore, 'list' | 'listRecords' | 'listPieces' | 'listPresences'> {
  const askPage = (what: string, request: PageRequest, options: CallOptions | undefined) =>
    askForPage(container, ask, what, request, options);
  return {
    async list(options) {
      const prefix = options?.job === undefined ? JOBS_PREFIX : jobPrefix(options.job);
      const jobs: Jobs = new Map();
      let date: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const answer = await askPage('list jobs', { prefix, limit: pageSize, continuation }, options);
        date ??= answer.date;
        for (const item of answer.value.items) gather(jobs, item);
        continuation = answer.value.continuation;
      } while (continuation !== undefined);
      return { date, jobs };
    },
    async listPresences(options) {
      const presences = new Map<string, ListedPresence>();
      let date: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const request = { prefix: PRESENCE_PREFIX, limit: pageSize, continuation };
        const answer = await askPage('list deployments', request, options);
        date ??= answer.date;
        for (const item of answer.value.items) {
          const name = decodeURIComponent(item.name.slice(PRESENCE_PREFIX.length));
          presences.set(name, { etag: quoted(item.properties.etag), metadata: metadataOf(item) });
        }
        continuation = answer.value.continuation;
      } while (continuation !== undefined);
      return { date, presences };
    },
    async listRecords(job, { prefix = '', limit, continuation }, options) {
      const folder = recordPrefix(job);
      const request = { prefix: folder + prefix, limit: Math.min(limit, pageSize), continuation };
      const { value } = await askPage(`list records of ${job}`, request, options);
      return {
        records: value.items.map((item) => ({
          key: item.name.slice(folder.length),
          etag: quoted(item.properties.etag),
          summary: metadataOf(item),
        })),
        continuation: value.continuation,
      };
    },
    async listPieces(job, { key, limit, continuation }, options) {
      const folder = piecePrefix(job);
      const request = { prefix: piecePrefix(job, key), limit: Math.min(limit, pageSize), continuation };
      const { value } = await askPage(`list pieces of ${job}`, request, options);
      return {
        pieces: value.items.map((item) => {
          const [run = '', name = ''] = item.name.slice(folder.length).split('/');
          return { key: run, name, summary: metadataOf(item) };
        }),
        continuation: value.continuation,
      };
    },
  };
}

async function askForPage(
  container: ContainerClient,
  ask: Ask,
  what: string,
  request: PageRequest,
  options: CallOptions | undefined,
) {
  const send = (abortSignal: AbortSignal): Promise<Page> => page(container, request, abortSignal);
  const answer = await ask({ what, no: [], options, send });
  if (answer.kind === 'no') throw new StoreUnavailableError(`${what}: refused without a reason`);
  return answer;
}

/** One call, one page, in order of name. */
export async function page(
  container: ContainerClient,
  { prefix, limit, continuation }: PageRequest,
  abortSignal: AbortSignal,
): Promise<Page> {
  const pages = container.listBlobsFlat({ prefix, includeMetadata: true, abortSignal }).byPage({
    maxPageSize: limit,
    ...(continuation === undefined ? {} : { continuationToken: continuation }),
  });
  for await (const { segment, continuationToken, date } of pages) {
    return {
      items: segment.blobItems,
      continuation: continuationToken === '' ? undefined : continuationToken,
      ...(date && { date }),
    };
  }
  throw new StoreUnavailableError('a listing without a page');
}

type Jobs = Map<JobName, { row?: ListedRow; control?: ListedControl }>;

/** The rows of all elections beside the jobs. */
export async function listElections(
  container: ContainerClient,
  ask: Ask,
  pageSize: number,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const rows = new Map<JobName, ListedRow>();
  let continuation: string | undefined;
  do {
    const request = { prefix: ELECTIONS_PREFIX, limit: pageSize, continuation };
    const answer = await askForPage(container, ask, 'list elections', request, options);
    for (const item of answer.value.items) {
      const name = parseElectionRow(item.name);
      if (name !== undefined) rows.set(name, rowOf(item));
    }
    continuation = answer.value.continuation;
  } while (continuation !== undefined);
  return rows;
}

/** A job's two blobs may lie on different pages. Blobs that are not ours are passed over. */
function gather(jobs: Jobs, item: BlobItem): void {
  const owner = parsePartName(item.name);
  if (owner === undefined) return;
  const job = jobs.get(owner.job) ?? {};
  jobs.set(owner.job, job);
  if (owner.part === 'control') job.control = { etag: quoted(item.properties.etag), metadata: metadataOf(item) };
  else job.row = rowOf(item);
}

function rowOf(item: BlobItem): ListedRow {
  const { etag, leaseState = 'available', leaseDuration } = item.properties;
  const listed = { etag: quoted(etag), lease: leaseState, metadata: metadataOf(item) };
  return leaseDuration === 'infinite' ? { ...listed, endless: true } : listed;
}

function metadataOf(item: BlobItem): Metadata {
  return item.metadata ?? {};
}
