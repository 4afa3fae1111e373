import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { sleep } from '../../core/clock';
import type { Control } from '../../core/control';
import { decodeControl, NO_CONTROL } from '../../core/control';
import { ForeignMetadataError } from '../../core/metadata';
import { within } from '../../lease/deadline';
import type { ListedControl, Listing } from '../../lease/store';
import { StoreError } from '../../lease/store';
import type { HeldRow } from '../held';

/** Attempts that ask within this time share one listing. */
const TOGETHER_MS = 100;
/** More jobs than these are read by a listing of all jobs. */
const ONE_BY_ONE = 4;
/** The share of its time after which a listing ends with what it has read. */
const LISTING_SHARE = 0.8;

/** The jobs that wait for the next listing. */
interface Batch {
  readonly jobs: Set<JobName>;
  /** Undefined where no listing was made, or none was answered: `isLost`. */
  readonly listing: Promise<{ readonly listing?: Listing; readonly isLost: boolean }>;
}

const batches = new WeakMap<Clock, Batch>();

/**
 * Reads a job's control anew. A burst of attempts that are due at the same time costs one listing, and not one call for
 * each.
 *
 * @returns undefined where it could not be read in time, which is logged: once for all jobs of a listing
 */
export async function freshControl(held: HeldRow, limitMs: Millis): Promise<Control | undefined> {
  const { coordinator, job, report } = held;
  const { clock, store } = coordinator;
  const { name } = job.spec;
  const batch = batches.get(clock) ?? begin(held, limitMs);
  batch.jobs.add(name);
  const { listing, isLost } = await batch.listing;
  const listed = listing?.jobs.get(name);
  if (listed === undefined && (isLost || listing?.continuation !== undefined)) return undefined;
  try {
    if (listed !== undefined) return decoded(listed.control);
    const { control } = await within(clock, limitMs, (signal) => store.readControl(name, { signal }));
    return decoded(control);
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
    report.log('warn', `job "${name}": its control could not be read again before its handler:`, error);
    return undefined;
  }
}

function begin(held: HeldRow, limitMs: Millis): Batch {
  const { clock } = held.coordinator;
  const jobs = new Set<JobName>();
  const list = async (): ReturnType<typeof listFor> => {
    await sleep(clock, TOGETHER_MS);
    batches.delete(clock);
    return jobs.size > ONE_BY_ONE ? listFor(held, jobs, limitMs) : { isLost: false };
  };
  const batch = { jobs, listing: list() };
  batches.set(clock, batch);
  return batch;
}

/** Lists the controls of all jobs, as many as storage shows in time. */
async function listFor(
  { coordinator: { clock, store }, report }: HeldRow,
  jobs: ReadonlySet<JobName>,
  limitMs: Millis,
): Promise<{ readonly listing?: Listing; readonly isLost: boolean }> {
  const enough = new AbortController();
  const stop = clock.after(limitMs * LISTING_SHARE, () => {
    enough.abort();
  });
  const unread = (count: number): string =>
    `the controls of ${String(count)} of ${String(jobs.size)} jobs could not be read again before their handlers`;
  try {
    const listing = await within(clock, limitMs, (signal) => store.list({ signal, enough: enough.signal }));
    const missing = [...jobs].filter((name) => !listing.jobs.has(name)).length;
    if (listing.continuation !== undefined && missing > 0) {
      report.log('warn', `${unread(missing)}: storage took too long to list them`);
    }
    return { listing, isLost: false };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('warn', `${unread(jobs.size)}:`, error);
    return { isLost: true };
  } finally {
    stop();
  }
}

function decoded(control: Pick<ListedControl, 'metadata'> | undefined): Control {
  return control === undefined ? NO_CONTROL : decodeControl(control.metadata);
}
