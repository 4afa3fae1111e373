import type { EpochMs, JobName } from '../../core/brand';
import type { CallOptions } from './call';
import type { ListedControl } from './controls';
import type { LeaseBreaking, ListedRow, RowStore } from './rows';

/** The rows of jobs. */
export interface JobRowStore extends RowStore, Partial<LeaseBreaking> {
  /**
   * All rows and controls, or those of one job. The listing's `date` is that of the first page, the oldest. Once
   * `enough` is aborted, the listing ends with the pages read so far, at least one, and returns a continuation; pass
   * that as `from` to continue. A job's row and control are never split between two listings.
   */
  list(options?: ListOptions): Promise<Listing>;
}

export interface ListOptions extends CallOptions {
  readonly job?: JobName;
  readonly from?: string;
  readonly enough?: AbortSignal;
}

export interface ListedJob {
  readonly row?: ListedRow;
  readonly control?: ListedControl;
  /** The Date of the page that showed the row, or the control if there is no row. */
  readonly date: EpochMs;
}

export interface Listing {
  readonly date: EpochMs;
  readonly jobs: ReadonlyMap<JobName, ListedJob>;
  /** The control of the fleet, in a listing of all jobs. Left out where there is none. */
  readonly fleet?: ListedControl;
  /** The layout of accounts, in a listing of all jobs. Left out where there is none. */
  readonly layout?: ListedControl;
  /** Left out where there are none. */
  readonly strays?: Strays;
  /** Left out where the listing reached its end. */
  readonly continuation?: string;
  /** In a listing of several accounts: all of them, with their layouts. */
  readonly accounts?: readonly { readonly location: string; readonly layout: ListedControl | undefined | 'missing' }[];
  /** The accounts that did not answer, in a listing of several. Left out where all have. */
  readonly missing?: readonly MissingAccount[];
}

/** An account whose jobs are missing from a listing. */
export interface MissingAccount {
  readonly location: string;
  readonly reason: string;
}

/** Listed blobs with names that cronlease does not write. Listings omit them. */
export interface Strays {
  readonly count: number;
  /** The first ten. */
  readonly names: readonly string[];
  /** The first ten whose metadata breaks listings by the SDK, which older versions of cronlease use. */
  readonly harmful: readonly string[];
}
