import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { LeaseBreaking, LeaseStore } from '../../lease/store';
import { STORE_LIMITS } from '../limits';
import { auditsOf } from './audits';
import { controlsOf } from './controls';
import { type Checkpoint, checkpointOf, failOver } from './fail-over';
import { groupsOf } from './groups';
import { breakLease } from './lease';
import { ledgerOf } from './ledger';
import { logsOf } from './logs';
import { noticesOf } from './notices';
import { piecesOf } from './pieces';
import { presencesOf } from './presences';
import { requestsOf } from './requests';
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
    controls: new Map(),
    ledgers: new Map(),
    logs: new Map(),
    pieces: new Map(),
    requests: new Map(),
    presences: new Map(),
    notices: new Map(),
    audits: new Map(),
    groups: new Map(),
    writes: 0,
  };
  return {
    open: () => ({
      location: location ?? 'memory',
      limits: STORE_LIMITS,
      prepare: async (options) => heed(options),
      ...rowsOf(state),
      ...controlsOf(state),
      ...ledgerOf(state),
      ...logsOf(state),
      ...piecesOf(state),
      ...requestsOf(state),
      ...presencesOf(state),
      ...noticesOf(state),
      ...auditsOf(state),
      ...groupsOf(state),
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
      state.ledgers.get(job)?.delete(key);
    },
    checkpoint: () => checkpointOf(state),
    failOver: (checkpoints, stateOf, leases) => {
      failOver(state, { checkpoints, stateOf }, leases);
    },
  };
}
