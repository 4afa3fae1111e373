import type { JobName, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { type Control, controlOf } from '../../core/control';
import { ForeignMetadataError } from '../../core/metadata';
import { within } from '../../lease/deadline';
import { type ListedJob, StoreError } from '../../lease/store';
import type { HeldRow } from '../held';

/** Attempts that ask within this time share one listing. */
const TOGETHER_MS = 100;
/** More jobs than these are read by a listing of all jobs. */
const ONE_BY_ONE = 4;
/** The share of its time after which a listing ends with what it has read. */
const LISTING_SHARE = 0.8;
/** The most jobs that the warning about a listing names. */
const NAMED = 10;

/** What a batch has read by a listing. */
interface Shown {
  readonly listed: ReadonlyMap<JobName, ListedJob>;
  /** The jobs of the batch that the listing should have shown. */
  readonly unread: ReadonlySet<JobName>;
}

/** The jobs that wait for the next listing. */
interface Batch {
  readonly jobs: Set<JobName>;
  readonly shown: Promise<Shown>;
}

/** Few jobs are read one by one. */
const NOTHING_LISTED: Shown = { listed: new Map(), unread: new Set() };

/** By coordinator: a process has one for each account, and its listings show no other's jobs. */
const batches = new WeakMap<HeldRow['coordinator'], Batch>();

/**
 * Reads a job's control again. A burst of attempts that are due at the same time costs one listing, and not one call
 * for each.
 *
 * @returns undefined where it could not be read in time, which is logged: once for all jobs of a listing
 */
export async function freshControl(held: HeldRow, limitMs: Millis): Promise<Control | undefined> {
  const { name } = held.job.spec;
  const batch = batches.get(held.coordinator) ?? begin(held, limitMs);
  batch.jobs.add(name);
  const { listed, unread } = await batch.shown;
  if (unread.has(name)) return undefined;
  const found = listed.get(name);
  return found === undefined ? readControlAgain(held, limitMs) : ifReadable(held, () => controlOf(found.control));
}

/**
 * Reads the control of one job by its own call.
 *
 * @returns undefined where it could not be read in time, which is logged
 */
export function readControlAgain(held: HeldRow, limitMs: Millis): Promise<Control | undefined> {
  const { clock, store } = held.coordinator;
  return ifReadable(held, async () => {
    const { control } = await within(clock, limitMs, (signal) => store.readControl(held.job.spec.name, { signal }));
    return controlOf(control);
  });
}

async function ifReadable(
  { job, report }: HeldRow,
  read: () => Control | Promise<Control>,
): Promise<Control | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
    report.log('warn', `job "${job.spec.name}": its control could not be read again before its handler:`, error);
    return undefined;
  }
}

function begin(held: HeldRow, limitMs: Millis): Batch {
  const { coordinator } = held;
  const jobs = new Set<JobName>();
  const show = async (): Promise<Shown> => {
    await sleep(coordinator.clock, TOGETHER_MS);
    batches.delete(coordinator);
    return jobs.size > ONE_BY_ONE ? list(held, jobs, limitMs) : NOTHING_LISTED;
  };
  const batch = { jobs, shown: show() };
  batches.set(coordinator, batch);
  return batch;
}

/** Lists the controls of all jobs, as many as storage shows in time. */
async function list(
  { coordinator: { clock, store }, report }: HeldRow,
  jobs: ReadonlySet<JobName>,
  limitMs: Millis,
): Promise<Shown> {
  const enough = new AbortController();
  const stop = clock.after(limitMs * LISTING_SHARE, () => enough.abort());
  try {
    const listing = await within(clock, limitMs, (signal) => store.list({ signal, enough: enough.signal }));
    const isWhole = listing.continuation === undefined;
    const unread = new Set(isWhole ? [] : [...jobs].filter((name) => !listing.jobs.has(name)));
    if (unread.size > 0) report.log('warn', `${unreadText(unread)}: storage took too long to list them`);
    return { listed: listing.jobs, unread };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('warn', `${unreadText(jobs)}:`, error);
    return { listed: new Map(), unread: jobs };
  } finally {
    stop();
  }
}

function unreadText(jobs: ReadonlySet<JobName>): string {
  const named = [...jobs].slice(0, NAMED).join(', ');
  const more = jobs.size > NAMED ? ` and ${String(jobs.size - NAMED)} more` : '';
  return `jobs ${named}${more}: their controls could not be read again before their handlers`;
}
