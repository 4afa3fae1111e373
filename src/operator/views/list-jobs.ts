import type { EpochMs, JobName } from '../../core/brand';
import { NO_CONTROL, decodeControl } from '../../core/control';
import type { JobSpec } from '../../core/job';
import { allowanceOf, decodeLayout } from '../../core/layout';
import { ForeignMetadataError, orForeign } from '../../core/metadata';
import { type Row, checkAhead, decodeRow } from '../../core/row';
import type {
  JobRowStore,
  ListedControl,
  ListedJob,
  ListedRow,
  Listing,
  MissingAccount,
  Strays,
} from '../../lease/store';
import { type JobState, isForgotten, leaseOf } from '../job-state';

/** A job in a listing, in the caller's jobs file, or in both. */
export interface JobEntry {
  readonly name: JobName;
  /** Undefined: the job is not in the file, or there is no file. */
  readonly spec: JobSpec | undefined;
  /** Undefined: no coordinator has seen the job. */
  readonly listed: ListedRow | undefined;
  /** Undefined if the state cannot be read; `unreadable` has the reason. */
  readonly state: JobState | undefined;
  readonly unreadable: readonly UnreadablePart[];
  /** Whether an operator forgot the job, so that its row remains only for its token. */
  readonly isForgotten: boolean;
}

/** A row or control that something else or a newer version wrote. Coordinators do not touch its job. */
export interface UnreadablePart {
  readonly part: 'lease' | 'control';
  readonly error: ForeignMetadataError;
}

export type LayoutsSeen = Pick<Listing, 'layout' | 'accounts'>;

export interface JobList {
  /** The storage service's time. */
  readonly now: EpochMs;
  /** The jobs of the file in its order, then those that only the listing contains. */
  readonly jobs: readonly JobEntry[];
  /** The control of the fleet, undecoded. */
  readonly fleet: ListedControl | undefined;
  readonly strays: Strays | undefined;
  /** The accounts that did not answer: their jobs are listed without a state. */
  readonly missing: readonly MissingAccount[];
  readonly layouts: LayoutsSeen;
}

/** Reads the state of every job by one listing, without further calls. */
export async function listJobs(store: JobRowStore, specs: readonly JobSpec[]): Promise<JobList> {
  return jobsIn(await store.list(), specs);
}

export function jobsIn(listing: Listing, specs: readonly JobSpec[]): JobList {
  const { date, jobs, fleet, strays, layout, accounts, missing = [] } = listing;
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const names = [...new Set([...byName.keys(), ...jobs.keys()])];
  return {
    now: date,
    jobs: names.map((name) => ({
      name,
      spec: byName.get(name),
      isForgotten: isForgotten(listing, name),
      ...stateOf(jobs.get(name) ?? { date }),
    })),
    fleet,
    strays,
    missing,
    layouts: { ...(layout && { layout }), ...(accounts && { accounts }) },
  };
}

function stateOf({ row: listed, control, date }: ListedJob): Pick<JobEntry, 'listed' | 'state' | 'unreadable'> {
  const row =
    listed &&
    orForeign((): Row => {
      const decoded = decodeRow(listed.metadata);
      checkAhead(decoded, date);
      return decoded;
    });
  const wanted = control === undefined ? NO_CONTROL : orForeign(() => decodeControl(control.metadata));
  const parts = [['lease', row] as const, ['control', wanted] as const];
  const unreadable = parts.flatMap(([part, read]) =>
    read instanceof ForeignMetadataError ? [{ part, error: read }] : [],
  );
  if (row instanceof ForeignMetadataError || wanted instanceof ForeignMetadataError) {
    return { listed, unreadable, state: undefined };
  }
  const lease = leaseOf(listed?.lease ?? 'available');
  return { listed, unreadable, state: { row, lease, control: wanted, controlEtag: control?.etag, now: date } };
}

interface LayoutTrouble {
  readonly reason: string;
  /** Whether something else wrote the layout. */
  readonly isForeign: boolean;
}

/** Why a deployment with the caller's list claims nothing in some accounts, or in the only one, `location`. */
export function layoutTroubles(location: string, { layout, accounts }: LayoutsSeen): readonly LayoutTrouble[] {
  const seen = accounts ?? [{ location, layout }];
  const locations = seen.map((account) => account.location);
  return seen.flatMap((account, index) => {
    if (account.layout === 'missing') return [];
    const trouble = troubleIn(locations, index, account.layout);
    return trouble === undefined ? [] : [trouble];
  });
}

function troubleIn(
  accounts: readonly string[],
  index: number,
  listed: ListedControl | undefined,
): LayoutTrouble | undefined {
  const layout = listed && orForeign(() => decodeLayout(listed.metadata));
  if (layout instanceof ForeignMetadataError) {
    return { reason: `the layout in ${accounts[index] ?? ''} cannot be read: ${layout.message}`, isForeign: true };
  }
  const allowance = allowanceOf({ accounts, index }, layout);
  return allowance.claims === 'all' ? undefined : { reason: allowance.reason, isForeign: false };
}
