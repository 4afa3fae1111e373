import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { LeaseBreaking, LeaseStore } from '../../lease/store';
import { facetsIn } from '../facets/facets';
import { STORE_LIMITS } from '../limits';
import { entriesIn, foldersIn } from './entries';
import { type Checkpoint, checkpointOf, failOver } from './fail-over';
import { breakLease } from './lease';
import { logsOf } from './logs';
import { rowsOf } from './rows';
import { heed, type State } from './state';

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
  const folders = foldersIn(state);
  return {
    open: () => ({
      location: location ?? 'memory',
      limits: STORE_LIMITS,
      prepare: async (options) => heed(options),
      ...rowsOf(state, folders.controls),
      ...facetsIn(entriesIn(state), folders),
      ...logsOf(state, folders.logs),
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
      folders.records(job).delete(key);
    },
    checkpoint: () => checkpointOf(state),
    failOver: (checkpoints, stateOf, leases) => {
      failOver(state, { checkpoints, stateOf }, leases);
    },
  };
}
