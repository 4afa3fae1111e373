import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs, JobName } from '../../core/brand';
import { hasUnlistableKey } from '../../core/metadata';
import {
  type CallOptions,
  type LeaseStore,
  type ListedJob,
  type ListedPresence,
  type ListedRow,
  type ListOptions,
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
  partName,
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
  readControl: LeaseStore['readControl'],
): Pick<LeaseStore, 'list' | 'listRecords' | 'listPieces' | 'listPresences'> {
  const askPage = (what: string, request: PageRequest, options: CallOptions | undefined) =>
    askForPage(container, ask, what, request, options);
  return {
    async list(options) {
      const prefix = options?.job === undefined ? JOBS_PREFIX : jobPrefix(options.job);
      const jobs = new Map<JobName, ListedJob>();
      const strays = strayNotes();
      const start = parsePlace(options?.from);
      if (start.job !== undefined) {
        const { control, date } = await readControl(start.job, options);
        if (control !== undefined) jobs.set(start.job, { control, date });
      }
      let date: EpochMs | undefined;
      let continuation: string | undefined = start.marker;
      let last = '';
      do {
        const request = { prefix, limit: pageSize, continuation };
        const next = date === undefined ? options : untilEnough(options);
        const answer = await askPage('list jobs', request, next).catch((error: unknown) => {
          if (date !== undefined && options?.enough?.aborted === true) return undefined;
          throw error;
        });
        if (answer === undefined) break;
        date ??= answer.date;
        for (const item of answer.value.blobs) if (!gather(jobs, item, answer.date)) strays.add(item);
        last = answer.value.blobs.at(-1)?.name ?? last;
        continuation = answer.value.continuation;
        // Whatever lies behind a job's row, it is none of the job's.
        if (options?.job !== undefined && last >= partName(options.job, 'lease')) continuation = undefined;
      } while (continuation !== undefined && options?.enough?.aborted !== true);
      const listed = { date: date ?? 0, jobs, ...strays.found() };
      return continuation === undefined ? listed : { ...listed, continuation: cutAfter(jobs, last, continuation) };
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

/** Where a listing that was cut off goes on, and the job whose control it has shown, and not its row. */
interface Place {
  readonly marker?: string;
  readonly job?: JobName;
}

function parsePlace(from: string | undefined): Place {
  return from === undefined ? {} : (JSON.parse(from) as Place);
}

/** A job's two blobs are never in two parts: a row without its control would run in a pause. */
function cutAfter(jobs: Map<JobName, ListedJob>, last: string, marker: string): string {
  const [job] = [...jobs].find(([name, { row }]) => row === undefined && partName(name, 'lease') > last) ?? [];
  if (job !== undefined) jobs.delete(job);
  const place: Place = { marker, ...(job !== undefined && { job }) };
  return JSON.stringify(place);
}

function untilEnough(options: ListOptions | undefined): CallOptions | undefined {
  const signals = [options?.signal, options?.enough].filter((signal) => signal !== undefined);
  return signals.length === 0 ? undefined : { signal: AbortSignal.any(signals) };
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
