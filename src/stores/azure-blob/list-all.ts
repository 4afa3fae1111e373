import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import { hasUnlistableKey } from '../../core/metadata';
import type { ControlStore, ListedControl, ListedJob, Listing, ListOptions, Strays } from '../../lease/store';
import { FOLDERS, jobPrefix, parsePartName, partName, quoted } from './layout';
import { type AskPage, type DatedPage, RangesRefusedError, rowOf } from './listing';
import type { ListedBlob } from './listing-xml';

/** The names from `start` on, which may be no blob's, to the last one before `end`. */
export interface NameRange {
  readonly start?: string;
  readonly end?: string;
  /**
   * The most blobs to request on one page: little more than the last listing found, because `end` is not a parameter.
   */
  readonly limit?: number;
}

/** What of a range is still to be read. */
export interface RangeCursor extends NameRange {
  readonly marker?: string;
  /** The job whose control has been shown without its row. */
  readonly job?: JobName;
}

/** How pages of listings are requested. */
export interface Pages {
  readonly askPage: AskPage;
  /** The most blobs on one. */
  readonly pageSize: number;
  /** How many are requested at the same time. 1: listings are not split. */
  readonly pagesAtOnce: number;
}

/**
 * Lists all jobs. If the last listing was longer than one page, the ranges of names that it has shown are listed side
 * by side. Fewer at once while listings fail or are cut off: pages that come together come late. Decision 031.
 */
export function listerOfAll(
  { askPage, pageSize, pagesAtOnce }: Pages,
  readControl: ControlStore['readControl'],
): (options: ListOptions | undefined) => Promise<Listing> {
  let plan = ALL_NAMES;
  let splits = pagesAtOnce > 1;
  let atOnce = pagesAtOnce;

  return async (options) => {
    if (options?.from !== undefined) return read(JSON.parse(options.from) as readonly RangeCursor[], options);
    try {
      return await read(plan, options);
    } catch (error) {
      if (!(error instanceof RangesRefusedError) || plan === ALL_NAMES) throw error;
    }
    splits = false;
    plan = ALL_NAMES;
    return read(plan, options);
  };

  async function read(places: readonly RangeCursor[], options: ListOptions | undefined): Promise<Listing> {
    let isWhole = false;
    try {
      const listing = await readOnce(places, options);
      isWhole = listing.continuation === undefined;
      return listing;
    } finally {
      atOnce = isWhole ? Math.min(pagesAtOnce, atOnce * 2) : Math.max(1, Math.floor(atOnce / 2));
    }
  }

  async function readOnce(places: readonly RangeCursor[], options: ListOptions | undefined): Promise<Listing> {
    const gathered = gatherer();
    const controls = await Promise.all(
      places.map(async ({ job }) => (job === undefined ? undefined : readControl(job, options))),
    );
    const reads = await listRanges(askPage, places, { ...options, atOnce });
    for (const [index, { place, pages }] of reads.entries()) {
      const { control, date } = controls[index] ?? {};
      if (place.job !== undefined && control !== undefined && date !== undefined && pages.length > 0)
        gathered.jobs.set(place.job, { control, date });
      for (const page of pages) gathered.page(page);
    }
    if (options?.from === undefined && splits) plan = planAfter(reads, plan, pageSize);
    const rest = reads.filter(({ isCut }) => isCut).map((one) => restOf(gathered.jobs, one));
    return rest.length === 0 ? gathered.listing() : { ...gathered.listing(), continuation: JSON.stringify(rest) };
  }
}

/** The ranges that the next listing reads. */
function planAfter(reads: readonly RangeRead[], last: readonly NameRange[], pageSize: number): readonly NameRange[] {
  const cut = reads.findIndex(({ isCut }) => isCut);
  const seen = cut < 0 ? reads : reads.slice(0, cut + 1);
  const names = seen.flatMap(({ pages }) => pages.flatMap(({ blobs }) => blobs.map(({ name }) => name)));
  return cut < 0 ? planRanges(names, pageSize) : replanned(names, last, pageSize);
}

/** Never splits a job's two blobs: a row without its control would run in a pause. */
function restOf(jobs: Map<JobName, ListedJob>, { place, pages, marker }: RangeRead): RangeCursor {
  const { job: _, ...range } = place;
  if (pages.length === 0) return place;
  const last = pages.findLast(({ blobs }) => blobs.length > 0)?.blobs.at(-1)?.name;
  const job = cutJob(jobs, range, last ?? '');
  if (job !== undefined) jobs.delete(job);
  return { ...range, ...(marker !== undefined && { marker }), ...(job !== undefined && { job }) };
}

/** The job of this range whose control has been shown, and whose row may be on a later page. */
function cutJob(
  jobs: ReadonlyMap<JobName, ListedJob>,
  { start = '', end }: NameRange,
  last: string,
): JobName | undefined {
  for (const [name, { row }] of jobs) {
    const rowName = partName(name, 'lease');
    if (row === undefined && rowName > last && rowName >= start && (end === undefined || rowName < end)) return name;
  }
  return undefined;
}

/** What was read of a range. */
interface RangeRead {
  readonly place: RangeCursor;
  /** Its pages, without the blobs of the next range. */
  readonly pages: readonly DatedPage[];
  /** Whether the caller had enough before its end. */
  readonly isCut: boolean;
  /** Where its next page begins. */
  readonly marker?: string | undefined;
}

type Ending = Pick<ListOptions, 'signal' | 'enough'>;

/**
 * Lists the blobs under `jobs/` in these ranges, `atOnce` of them side by side. The first page of the first range is
 * read even if the caller has enough.
 *
 * @returns the answers in the order of the ranges
 * @throws RangesRefusedError if the service does not list by name: only the range of all names can be listed then
 * @throws StoreError
 */
export async function listRanges(
  askPage: AskPage,
  places: readonly RangeCursor[],
  { atOnce, ...ending }: Ending & { readonly atOnce: number },
): Promise<readonly RangeRead[]> {
  const failed = new AbortController();
  const reads: RangeRead[] = [];
  let next = 0;
  const readInTurn = async (): Promise<void> => {
    for (let index = next; index < places.length; index = next) {
      next += 1;
      try {
        reads[index] = await readRange(askPage, places[index] ?? {}, ending, { failed: failed.signal, index });
      } catch (error) {
        // The others would read for nothing.
        failed.abort(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, places.length) }, readInTurn));
  failed.signal.throwIfAborted();
  return reads;
}

async function readRange(
  askPage: AskPage,
  place: RangeCursor,
  ending: Ending,
  { failed, index }: { readonly failed: AbortSignal; readonly index: number },
): Promise<RangeRead> {
  const { start, end, limit } = place;
  const pages: DatedPage[] = [];
  let { marker } = place;
  let last = start ?? '';
  for (;;) {
    const { signal } = ending;
    const enough = index === 0 && pages.length === 0 ? undefined : ending.enough;
    if (enough?.aborted === true) return { place, pages, isCut: true, marker };
    const request = { prefix: FOLDERS.controls, continuation: marker, start, ...(limit !== undefined && { limit }) };
    const answer = await askPage('list jobs', request, {
      signal: AbortSignal.any([signal, failed, enough].filter((signal) => signal !== undefined)),
    }).catch((error: unknown) => {
      if (enough?.aborted === true && !failed.aborted) return undefined;
      throw error;
    });
    if (answer === undefined) return { place, pages, isCut: true, marker };
    const { blobs, continuation, date } = answer;
    if (start !== undefined || end !== undefined) last = checkOrder(blobs, last);
    const beyond = end === undefined ? -1 : blobs.findIndex(({ name }) => name >= end);
    pages.push({ blobs: beyond < 0 ? blobs : blobs.slice(0, beyond), date });
    if (beyond >= 0 || continuation === undefined) return { place, pages, isCut: false };
    marker = continuation;
  }
}

/**
 * Whether the service lists by name, from `start` on, as the ranges need it. One that does not know the parameter lists
 * from the beginning; an account with a hierarchical namespace has another order.
 *
 * @param last the name before these
 * @returns the last name
 * @throws RangesRefusedError
 */
function checkOrder(blobs: readonly ListedBlob[], last: string): string {
  let before = last;
  for (const { name } of blobs) {
    if (name < before) throw new RangesRefusedError(`list jobs: the service lists ${name} after ${before}`);
    before = name;
  }
  return before;
}

/** All names. */
export const ALL_NAMES: readonly NameRange[] = [{}];

/** A range is planned with this share of a page: its page must show a name beyond it, or another one is requested. */
const FILL = 63 / 64;
/** A page is requested with room for new blobs. */
const SPARE_AT_LEAST = 4;
const SPARE = 1 / 16;

/**
 * Splits a listing into ranges of about one page each. Together they hold every name, known or not, exactly once. They
 * meet in front of jobs, and so never between the two blobs of one.
 *
 * @param names in order, as the last listing showed them
 * @returns all names as one range if they fit on one page
 */
export function planRanges(names: readonly string[], pageSize: number): readonly NameRange[] {
  if (names.length <= pageSize) return ALL_NAMES;
  const size = Math.max(1, Math.floor(pageSize * FILL));
  const each = Math.ceil(names.length / Math.ceil(names.length / size));
  const ranges: NameRange[] = [];
  let first = 0;
  let start: string | undefined;
  for (let index = each; index < names.length; index += 1) {
    const end = jobStartAt(names, index);
    if (end === undefined) continue;
    ranges.push({ ...from(start), end, limit: withSpare(index - first) });
    [start, first] = [end, index];
    index += each - 1;
  }
  return [...ranges, from(start)];
}

function from(start: string | undefined): NameRange {
  return start === undefined ? {} : { start };
}

function withSpare(count: number): number {
  return count + Math.max(SPARE_AT_LEAST, Math.ceil(count * SPARE));
}

/** The name with which a job begins at this index; undefined if none begins there. */
function jobStartAt(names: readonly string[], index: number): string | undefined {
  const job = parsePartName(names[index] ?? '')?.job;
  if (job === undefined) return undefined;
  const start = jobPrefix(job);
  // A copy: a part of a page's text would keep all of it in memory.
  return names[index - 1]?.startsWith(start) === true ? undefined : Buffer.from(start).toString();
}

/**
 * The plan after a listing that was cut off.
 *
 * @param names in order, as far as they were seen without a gap
 * @param last the plan of that listing, which holds for the names behind
 */
export function replanned(
  names: readonly string[],
  last: readonly NameRange[],
  pageSize: number,
): readonly NameRange[] {
  const seen = planRanges(names, pageSize);
  const behind = last.filter(({ start }) => start !== undefined && start > (names.at(-1) ?? ''));
  const next = behind[0]?.start;
  if (next === undefined) return seen;
  return [...seen.slice(0, -1), { ...seen.at(-1), end: next }, ...behind];
}

const FLEET_CONTROL = partName(FLEET, 'control');
const LAYOUT_CONTROL = partName(LAYOUT, 'control');

/** Makes a listing of jobs from pages of blobs. */
export function gatherer() {
  const jobs = new Map<JobName, ListedJob>();
  const strays = strayNotes();
  let oldest: EpochMs | undefined;
  let fleet: ListedControl | undefined;
  let layout: ListedControl | undefined;
  return {
    jobs,
    page({ blobs, date }: DatedPage): void {
      oldest = Math.min(oldest ?? date, date);
      for (const item of blobs) {
        if (item.name === FLEET_CONTROL) fleet = controlOf(item);
        else if (item.name === LAYOUT_CONTROL) layout = controlOf(item);
        else if (!gather(jobs, item, date)) strays.add(item);
      }
    },
    listing: (): Listing => ({
      date: oldest ?? 0,
      jobs,
      ...(fleet && { fleet }),
      ...(layout && { layout }),
      ...strays.found(),
    }),
  };
}

function controlOf(blob: ListedBlob): ListedControl {
  return {
    etag: quoted(blob.etag),
    get metadata() {
      return blob.metadata;
    },
  };
}

/** Adds a blob to its job, whose other blob may be on another page. Returns false if the blob is not a job's. */
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

const STRAYS_NAMED = 10;

/** Collects the blobs of a listing that cronlease did not write. */
export function strayNotes(): { add(item: ListedBlob): void; found(): { readonly strays?: Strays } } {
  let count = 0;
  const names: string[] = [];
  const harmful: string[] = [];
  return {
    add(blob) {
      count += 1;
      if (names.length < STRAYS_NAMED) names.push(blob.name);
      if (harmful.length < STRAYS_NAMED && hasUnlistableKey(blob.metadata)) harmful.push(blob.name);
    },
    found: () => (count === 0 ? {} : { strays: { count, names, harmful } }),
  };
}
