import type { JobName } from '../core/brand';
import type {
  AuditStore,
  ControlStore,
  GroupStore,
  LedgerStore,
  LogStore,
  NoticeStore,
  PieceStore,
  RequestStore,
  Retention,
} from './port/entries';
import type { JobRowStore, PresenceStore } from './port/rows';

export * from './port/call';
export type * from './port/entries';
export * from './port/rows';

/**
 * The storage port, in facets, which the files of `port` hold. A store implements all of them; a consumer takes the
 * facets that it uses.
 *
 * Contract, checked by `test/conformance`:
 * - Every method rejects with `StoreUnavailableError` if the service did not answer, throttled or failed (the
 *   call may or may not have taken effect), with `StoreDeniedError` if it refused the caller, and with the
 *   signal's reason if the caller gave up. A lost race is an answer, never an error.
 * - A method makes one attempt. Repeating it is up to the caller, because only the caller knows what a second call
 *   would do.
 * - `date` is the time of the answer by the service's clock, cut to whole seconds.
 * - Metadata keys are lowercase letters. Values are printable ASCII, not empty, with no space at either end. A store
 *   rejects other metadata, and anything beyond its `StoreLimits`, before the call, with `StoreLimitError`.
 * - The service checks conditions and leases and applies the change in one step.
 */
export interface LeaseStore
  extends
    JobRowStore,
    ControlStore,
    LedgerStore,
    LogStore,
    PieceStore,
    RequestStore,
    PresenceStore,
    NoticeStore,
    AuditStore,
    GroupStore,
    Partial<Retention> {
  /** The store of only this job, with all its objects. Left out where this store holds those of every job. */
  home?(job: JobName): LeaseStore;
  /** The store of each account, if the jobs are distributed over several. */
  readonly accounts?: readonly LeaseStore[];
}
