import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import { hasUnlistableKey } from '../../core/metadata';
import type { ListedControl, ListedJob, Listing, Strays } from '../../lease/store';
import { parsePartName, partName, quoted } from './layout';
import { rowOf } from './listing';
import type { ListedBlob } from './listing-xml';

/** One page of a listing, with its Date. */
export interface DatedPage {
  readonly blobs: readonly ListedBlob[];
  readonly date: EpochMs;
}

/** Makes a listing of jobs from pages of blobs. */
export interface Gatherer {
  readonly jobs: Map<JobName, ListedJob>;
  page(page: DatedPage): void;
  listing(): Listing;
}

const FLEET_CONTROL = partName(FLEET, 'control');
const LAYOUT_CONTROL = partName(LAYOUT, 'control');

export function gatherer(): Gatherer {
  const jobs = new Map<JobName, ListedJob>();
  const strays = strayNotes();
  let oldest: EpochMs | undefined;
  let fleet: ListedControl | undefined;
  let layout: ListedControl | undefined;
  return {
    jobs,
    page({ blobs, date }) {
      oldest = Math.min(oldest ?? date, date);
      for (const item of blobs) {
        if (item.name === FLEET_CONTROL) fleet = controlOf(item);
        else if (item.name === LAYOUT_CONTROL) layout = controlOf(item);
        else if (!gather(jobs, item, date)) strays.add(item);
      }
    },
    listing: () => ({
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
