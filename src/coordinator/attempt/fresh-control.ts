import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { sleep } from '../../core/clock';
import type { Control } from '../../core/control';
import { decodeControl, NO_CONTROL } from '../../core/control';
import { within } from '../../lease/deadline';
import type { ListedControl, Listing } from '../../lease/store';
import type { HeldRow } from '../held';

/** Attempts that ask within this time share one listing. */
const TOGETHER_MS = 100;
/** More jobs than these are read by a listing of all jobs. */
const ONE_BY_ONE = 4;

/** The jobs that wait for the next listing. */
interface Batch {
  readonly jobs: Set<JobName>;
  readonly listing: Promise<Listing | undefined>;
}

const batches = new WeakMap<Clock, Batch>();

/**
 * Reads a job's control anew. A burst of attempts that are due at the same time costs one listing, and not one call for
 * each.
 *
 * @throws StoreError, also when there is no answer in time; ForeignMetadataError
 */
export async function freshControl({ coordinator, job }: HeldRow, limitMs: Millis): Promise<Control> {
  const { clock, store } = coordinator;
  const { name } = job.spec;
  const batch = batches.get(clock) ?? begin(coordinator, limitMs);
  batch.jobs.add(name);
  const listing = await batch.listing;
  const listed = listing?.jobs.get(name);
  if (listed !== undefined) return decoded(listed.control);
  const { control } = await within(clock, limitMs, (signal) => store.readControl(name, { signal }));
  return decoded(control);
}

function begin({ clock, store }: HeldRow['coordinator'], limitMs: Millis): Batch {
  const jobs = new Set<JobName>();
  const list = async (): Promise<Listing | undefined> => {
    await sleep(clock, TOGETHER_MS);
    batches.delete(clock);
    return jobs.size > ONE_BY_ONE ? within(clock, limitMs, (signal) => store.list({ signal })) : undefined;
  };
  const batch = { jobs, listing: list() };
  batches.set(clock, batch);
  return batch;
}

function decoded(control: Pick<ListedControl, 'metadata'> | undefined): Control {
  return control === undefined ? NO_CONTROL : decodeControl(control.metadata);
}
