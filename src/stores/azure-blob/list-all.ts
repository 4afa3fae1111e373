import type { JobName } from '../../core/brand';
import type { ControlStore, ListedJob, Listing, ListOptions } from '../../lease/store';
import { type Gatherer, gatherer } from './gather';
import { partName } from './layout';
import { type AskPage, RangesRefusedError } from './listing';
import { listRanges, type RangeRead } from './list-ranges';
import { ALL_NAMES, type NameRange, type RangeCursor, planRanges, replanned } from './ranges';

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
    const rest = reads.filter(({ isCut }) => isCut).map((one) => restOf(gathered, one));
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
function restOf({ jobs }: Gatherer, { place, pages, marker }: RangeRead): RangeCursor {
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
