import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs, JobName } from '../../core/brand';
import { hasUnlistableKey } from '../../core/metadata';
import {
  type CallOptions,
  type LeaseStore,
  type ListedJob,
  type ListedPresence,
  type ListedRow,
  StoreUnavailableError,
  type Strays,
} from '../../lease/store';
import type { Ask } from './ask';
import {
  ELECTIONS_PREFIX,
  jobPrefix,
  JOBS_PREFIX,
  parseElectionRow,
  parsePartName,
  parsePresenceName,
  piecePrefix,
  PRESENCE_PREFIX,
  quoted,
  recordPrefix,
} from './layout';
import type { ListedBlob, ListingPage } from './listing-xml';
import { readListing } from './unread-listing';

interface Page extends ListingPage {
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
      const jobs = new Map<JobName, ListedJob>();
      const strays = strayNotes();
      let date: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const answer = await askPage('list jobs', { prefix, limit: pageSize, continuation }, options);
        date ??= answer.date;
        for (const item of answer.value.blobs) if (!gather(jobs, item, answer.date)) strays.add(item);
        continuation = answer.value.continuation;
      } while (continuation !== undefined);
      return { date, jobs, ...strays.found() };
    },
    async listPresences(options) {
      const presences = new Map<string, ListedPresence>();
      const strays = strayNotes();
      let date: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const request = { prefix: PRESENCE_PREFIX, limit: pageSize, continuation };
        const answer = await askPage('list deployments', request, options);
        date ??= answer.date;
        for (const item of answer.value.blobs) {
          const name = parsePresenceName(item.name);
          if (name === undefined) strays.add(item);
          else presences.set(name, { etag: quoted(item.etag), metadata: item.metadata });
        }
        continuation = answer.value.continuation;
      } while (continuation !== undefined);
      return { date, presences, ...strays.found() };
    },
    async listRecords(job, { prefix = '', limit, continuation }, options) {
      const folder = recordPrefix(job);
      const request = { prefix: folder + prefix, limit: Math.min(limit, pageSize), continuation };
      const { value } = await askPage(`list records of ${job}`, request, options);
      return {
        records: value.blobs.map((item) => ({
          key: item.name.slice(folder.length),
          etag: quoted(item.etag),
          summary: item.metadata,
        })),
        continuation: value.continuation,
      };
    },
    async listPieces(job, { key, limit, continuation }, options) {
      const folder = piecePrefix(job);
      const request = { prefix: piecePrefix(job, key), limit: Math.min(limit, pageSize), continuation };
      const { value } = await askPage(`list pieces of ${job}`, request, options);
      return {
        pieces: value.blobs.map((item) => {
          const [run = '', name = ''] = item.name.slice(folder.length).split('/');
          return { key: run, name, summary: item.metadata };
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
  const { answer, page } = await readListing(abortSignal, () => pages.next());
  const date = answer.done ? undefined : answer.value.date;
  return { ...page, ...(date && { date }) };
}

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
    for (const item of answer.value.blobs) {
      const name = parseElectionRow(item.name);
      if (name !== undefined) rows.set(name, rowOf(item));
    }
    continuation = answer.value.continuation;
  } while (continuation !== undefined);
  return rows;
}

/** Adds a blob to the job that it belongs to, whose other blob may lie on another page. False: it is no job's. */
function gather(jobs: Map<JobName, ListedJob>, item: ListedBlob, date: EpochMs): boolean {
  const owner = parsePartName(item.name);
  if (owner === undefined) return false;
  const known = jobs.get(owner.job);
  if (owner.part === 'lease') {
    jobs.set(owner.job, { ...known, row: rowOf(item), date });
  } else {
    const control = { etag: quoted(item.etag), metadata: item.metadata };
    jobs.set(owner.job, { ...known, control, date: known?.date ?? date });
  }
  return true;
}

const STRAYS_NAMED = 10;

function strayNotes(): { add(item: ListedBlob): void; found(): { readonly strays?: Strays } } {
  let count = 0;
  const names: string[] = [];
  const harmful: string[] = [];
  return {
    add({ name, metadata }) {
      count += 1;
      if (names.length < STRAYS_NAMED) names.push(name);
      if (harmful.length < STRAYS_NAMED && hasUnlistableKey(metadata)) harmful.push(name);
    },
    found: () => (count === 0 ? {} : { strays: { count, names, harmful } }),
  };
}

function rowOf({ etag, lease, endless, metadata }: ListedBlob): ListedRow {
  const listed = { etag: quoted(etag), lease, metadata };
  return endless ? { ...listed, endless: true } : listed;
}
