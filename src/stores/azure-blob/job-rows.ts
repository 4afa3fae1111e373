import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import type {
  CallOptions,
  ControlStore,
  JobRowStore,
  LeaseBreaking,
  ListedControl,
  ListedJob,
  ListOptions,
} from '../../lease/store';
import { STORE_LIMITS } from '../limits';
import type { Ask } from './ask';
import { NO } from './errors';
import { jobPrefix, JOBS_PREFIX, parsePartName, partName, quoted } from './layout';
import type { AskPage } from './listing';
import { rowOf } from './listing';
import type { ListedBlob } from './listed-blob';
import { rowCalls } from './rows';
import { strayNotes } from './strays';

/** The rows of jobs, listed with their controls, whose blobs are beside them. */
export function jobRowsIn(
  container: ContainerClient,
  ask: Ask,
  askPage: AskPage,
  readControl: ControlStore['readControl'],
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return {
    ...rowCalls(container, ask, (job) => partName(job, 'lease')),
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
      let fleet: ListedControl | undefined;
      let continuation: string | undefined = start.marker;
      let last = '';
      do {
        const request = { prefix, continuation };
        const next = date === undefined ? options : untilEnough(options);
        const answer = await askPage('list jobs', request, next).catch((error: unknown) => {
          if (date !== undefined && options?.enough?.aborted === true) return undefined;
          throw error;
        });
        if (answer === undefined) break;
        date ??= answer.date;
        for (const item of answer.value.blobs) {
          if (item.name === FLEET_CONTROL) fleet = controlOf(item);
          else if (!gather(jobs, item, answer.date)) strays.add(item);
        }
        last = answer.value.blobs.at(-1)?.name ?? last;
        continuation = answer.value.continuation;
        // Blobs after the job's row belong to other jobs.
        if (options?.job !== undefined && last >= partName(options.job, 'lease')) continuation = undefined;
      } while (continuation !== undefined && options?.enough?.aborted !== true);
      const listed = { date: date ?? 0, jobs, ...(fleet && { fleet }), ...strays.found() };
      return continuation === undefined ? listed : { ...listed, continuation: cutAfter(jobs, last, continuation) };
    },
    async breakLease(job, ifMatch, options) {
      const answer = await ask({
        what: `break the lease of ${job}`,
        no: NO.lease,
        options,
        // The lease ends after its remaining time if that is shorter. Without a period, the service would end an
        // endless lease at once.
        send: (abortSignal) =>
          container
            .getBlobClient(partName(job, 'lease'))
            .getBlobLeaseClient()
            .breakLease(STORE_LIMITS.leaseMs.most / 1000, { conditions: { ifMatch }, abortSignal }),
      });
      if (answer.kind === 'no') return { kind: 'lost' };
      return { kind: 'broken', leftMs: (answer.value.leaseTime ?? 0) * 1000 };
    },
  };
}

/** Where to continue a listing that was cut off, and the job whose control it has shown without its row. */
interface Place {
  readonly marker?: string;
  readonly job?: JobName;
}

function parsePlace(from: string | undefined): Place {
  return from === undefined ? {} : (JSON.parse(from) as Place);
}

/** Never splits a job's two blobs: a row without its control would run in a pause. */
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

const FLEET_CONTROL = partName(FLEET, 'control');

function controlOf(blob: ListedBlob): ListedControl {
  return {
    etag: quoted(blob.etag),
    get metadata() {
      return blob.metadata;
    },
  };
}

/** Adds a blob to its job, whose other blob may be on another page. Returns false if the blob is no job's. */
function gather(jobs: Map<JobName, ListedJob>, item: ListedBlob, date: EpochMs): boolean {
  const owner = parsePartName(item.name);
  if (owner === undefined) return false;
  const known = jobs.get(owner.job);
  if (owner.part === 'lease') {
    jobs.set(owner.job, { ...known, row: rowOf(item), date });
  } else {
    jobs.set(owner.job, { ...known, control: controlOf(item), date: known?.date ?? date });
  }
  return true;
}
