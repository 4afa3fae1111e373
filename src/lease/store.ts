import type { JobName } from '../core/brand';
import type { AuditStore } from './port/audits';
import type { ControlStore } from './port/controls';
import type { GroupStore } from './port/groups';
import type { JobRowStore } from './port/job-rows';
import type { LedgerStore, Retention } from './port/ledger';
import type { LogStore } from './port/logs';
import type { NoticeStore } from './port/notices';
import type { PieceStore } from './port/pieces';
import type { PresenceStore } from './port/presences';
import type { RequestStore } from './port/requests';

export type * from './port/audits';
export type * from './port/call';
export type * from './port/controls';
export * from './port/errors';
export type * from './port/groups';
export type * from './port/job-rows';
export type * from './port/ledger';
export * from './port/limits';
export type * from './port/logs';
export type * from './port/notices';
export type * from './port/pieces';
export type * from './port/presences';
export type * from './port/requests';
export type * from './port/rows';

/**
 * The storage port, in facets, each in a file of `port`. A store implements all of them; a consumer takes the facets that
 * it uses.
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
