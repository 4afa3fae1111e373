import type { JobName } from '../../core/brand';
import { jobPrefix, parsePartName } from './layout';

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
