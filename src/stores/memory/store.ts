import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { LeaseBreaking, LeaseStore } from '../../lease/store';
import { FOLDERS } from '../azure-blob/layout';
import { facetsIn, logsIn } from '../facets/facets';
import { breakingIn, listingOf, rowsIn } from '../facets/rows';
import { STORE_LIMITS } from '../limits';
import type { FacetKeys } from '../port';
import { entriesIn, listJobs, logsOf, rowsOf } from './ports';
import { breakLease, type Folder, folderOf, heed, NO_LEASE, type State } from './state';

/** A storage service in this process, with the rules of blob leases and a settable clock. */
export interface MemoryService {
  /** Opens a handle for one instance. All handles see the same rows; each call takes effect at once. */
  open(): LeaseStore & LeaseBreaking;
  /** Breaks a row's lease, as a person can in the portal. Without a lease nothing changes. */
  breakLease(job: JobName, periodMs: Millis): void;
  /** Deletes a row with its lease, as a person can in the portal. */
  deleteRow(job: JobName): void;
  /** Deletes one record, as a lifecycle rule does with old ones. */
  deleteRecord(job: JobName, key: string): void;
  checkpoint(): Checkpoint;
  /**
   * Puts every blob back to an earlier state, as a failover to a secondary that lags behind does. Each blob has its own
   * replication, so `stateOf` names the checkpoint for each, by its name. A held lease ends at its old time if it is kept.
   */
  failOver(checkpoints: readonly Checkpoint[], stateOf: (blob: string) => Checkpoint, leases: 'kept' | 'gone'): void;
}

/**
 * Leases use the clock's monotonic time, and answers have its wall time.
 *
 * @param location of this service, if there is another one: no ETag of the one fits a row of the other
 */
export function memoryService(clock: Clock, location?: string): MemoryService {
  const state: State = {
    clock,
    etags: location === undefined ? '0x' : `${location}-`,
    rows: new Map(),
    folders: new Map(),
    writes: 0,
  };
  const folders: FacetKeys<Folder> = (facet, job) => folderOf(state, facet, job);
  const rows = rowsOf(state);
  return {
    open: () => ({
      location: location ?? 'memory',
      limits: STORE_LIMITS,
      prepare: async (options) => heed(options),
      ...rowsIn(rows),
      ...breakingIn(rows),
      list: async (options) => {
        heed(options);
        return listingOf(listJobs(state, options?.job), options?.job);
      },
      ...facetsIn(entriesIn(state), folders),
      ...logsIn(logsOf(state), folders),
    }),
    breakLease(job, periodMs) {
      const row = state.rows.get(job);
      if (row === undefined) return;
      state.rows.set(job, { ...row, lease: breakLease(row.lease, periodMs, clock.monotonic()) });
    },
    deleteRow(job) {
      state.rows.delete(job);
    },
    deleteRecord(job, key) {
      folders('records', job).delete(key);
    },
    checkpoint: () => checkpointOf(state),
    failOver: (checkpoints, stateOf, leases) => failOver(state, { checkpoints, stateOf }, leases),
  };
}

/** The state of every blob at one instant. */
export type Checkpoint = Pick<State, 'rows' | 'folders'>;

interface Past {
  readonly checkpoints: readonly Checkpoint[];
  readonly stateOf: (blob: string) => Checkpoint;
}

/** Handles share the maps, so that a checkpoint has copies. */
function checkpointOf({ rows, folders }: State): Checkpoint {
  return {
    rows: new Map(rows),
    folders: new Map([...folders].map(([name, entries]) => [name, new Map(entries)])),
  };
}

function failOver({ rows, folders }: State, past: Past, leases: 'kept' | 'gone'): void {
  goBack(
    past,
    rows,
    (at) => at.rows,
    (job) => `jobs/${job}/lease`,
  );
  if (leases === 'gone') for (const [job, row] of rows) rows.set(job, { ...row, lease: NO_LEASE });
  for (const [name, entries] of folders) {
    goBack(
      past,
      entries,
      (at) => at.folders.get(name),
      (id) => (name === FOLDERS.controls ? `jobs/${id}/control` : name + id),
    );
  }
}

/** Handles share the maps, so that a map is never replaced. */
function goBack<Key, Blob>(
  { checkpoints, stateOf }: Past,
  map: Map<Key, Blob>,
  blobsOf: (at: Checkpoint) => ReadonlyMap<Key, Blob> | undefined,
  nameOf: (key: Key) => string,
): void {
  map.clear();
  for (const key of new Set(checkpoints.flatMap((at) => [...(blobsOf(at)?.keys() ?? [])]))) {
    const blob = blobsOf(stateOf(nameOf(key)))?.get(key);
    if (blob !== undefined) map.set(key, blob);
  }
}
