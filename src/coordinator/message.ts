import type { Claim } from '../core/decide';
import type { Reason, RunFate } from '../core/fate';
import type { AttemptRecord, LedgerRecord } from '../core/record';
import type { Metadata } from '../lease/store';

/**
 * What travels through Durable from a tick to an attempt, and from an attempt to the next. JSON, so rows travel as
 * their metadata and instants as numbers.
 */
export type AttemptInput =
  /** A no-op that shows that the task hub works. */
  | { readonly kind: 'probe' }
  /** The tick holds the lease; the attempt is to make the claim write under it. */
  | {
      readonly kind: 'handedOver';
      readonly job: string;
      readonly leaseId: string;
      readonly leaseMs: number;
      readonly etag: string;
      /** The service's Date of the acquisition. */
      readonly acquiredAt: number;
      /** The row to write, but for execution and started. */
      readonly row: Metadata;
      readonly what: Claim['what'];
      /** The run is to be ended with this fate, without its handler. */
      readonly end: { readonly fate: RunFate; readonly reason: Reason } | null;
    }
  /** The run's orchestration goes on after its not-before time: the attempt acquires the lease by itself. */
  | {
      readonly kind: 'again';
      readonly job: string;
      readonly etag: string;
      /** The row as the retrying write left it. */
      readonly row: Metadata;
      /** This orchestration's earlier attempts, with their errors. */
      readonly known: readonly AttemptRecord[];
    };

/** What an attempt tells its orchestration. */
export type AttemptResult =
  | { readonly kind: 'ended'; readonly record: LedgerRecord }
  | { readonly kind: 'again'; readonly notBefore: number; readonly next: AttemptInput }
  /** Somebody else goes on with the run: another execution, a tick, a successor. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'proven' };
