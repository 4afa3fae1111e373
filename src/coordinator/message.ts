import type { Claim } from '../core/decide';
import type { PlannedItem } from '../core/fan-out';
import type { Reason, RunFate } from '../core/fate';
import type { AttemptRecord, LedgerRecord } from '../core/record';
import type { Row } from '../core/row';
import { decodeRow, encodeRow } from '../core/row';
import type { Metadata } from '../lease/store';

/**
 * What travels through Durable from a tick to an attempt, and from an attempt to the next. Instants travel as numbers,
 * and rows and attempts as JSON text, since the Durable extension may write times in JSON anew in another form.
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
      /** The row to write, but for execution and started: {@link packRow}. */
      readonly row: string;
      readonly what: Claim['what'];
      /** Claimed before the deadline of items that were silent: they must not be heard of meanwhile. */
      readonly isSilent?: true;
      /** The run is to be ended with this fate, without its handler. */
      readonly end: { readonly fate: RunFate; readonly reason: Reason } | null;
    }
  /** The run's orchestration goes on after its not-before time: the attempt acquires the lease by itself. */
  | {
      readonly kind: 'again';
      readonly job: string;
      readonly etag: string;
      /** The row as the retrying write left it: {@link packRow}. */
      readonly row: string;
      /** This orchestration's earlier attempts, with their errors: {@link packAttempts}. */
      readonly known: string;
    }
  | ItemInput;

/** What makes a claim of a run. */
export type ClaimInput = Extract<AttemptInput, { kind: 'handedOver' | 'again' }>;

/** Items of one run, to be worked on one after another. */
export interface Lane {
  readonly job: string;
  /** Of the run. */
  readonly key: string;
  /** The token with which the row was left to the items: with another one the run has gone on without them. */
  readonly token: number;
  /** The row's not-before time: after it somebody else may go on with the run. */
  readonly until: number;
  /** How often one item is tried. */
  readonly attempts: number;
  readonly items: readonly PlannedItem[];
}

/** One call for one item of a lane. */
export interface ItemInput extends Omit<Lane, 'items' | 'attempts'>, PlannedItem {
  readonly kind: 'item';
  /** From 1; of this item. */
  readonly attempt: number;
  /** It is to be worked on then, and not by this call, which says that its lane is still there. */
  readonly notBefore?: number;
}

/** What an attempt tells its orchestration. */
export type AttemptResult =
  | { readonly kind: 'ended'; readonly record: LedgerRecord }
  | { readonly kind: 'again'; readonly notBefore: number; readonly next: AttemptInput }
  /** The run's items are to be worked on; then it goes on. */
  | { readonly kind: 'fanOut'; readonly lanes: readonly Lane[]; readonly next: AttemptInput }
  /** `done`: what became of the item is stored. `stopped`: no more items are wanted. */
  | { readonly kind: 'item'; readonly state: 'done' | 'stopped' }
  | {
      readonly kind: 'item';
      readonly state: 'again';
      readonly attempt: number;
      readonly notBefore: number;
      /** The lane calls again by then, however long the item is to wait, lest its run be taken for abandoned. */
      readonly beatBy?: number;
    }
  /** Somebody else goes on with the run: another execution, a tick, a successor. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'proven' };

export function packRow(row: Row): string {
  return JSON.stringify(encodeRow(row));
}

export function unpackRow(text: string): Row {
  return decodeRow(JSON.parse(text) as Metadata);
}

export function packAttempts(attempts: readonly AttemptRecord[]): string {
  return JSON.stringify(attempts);
}

export function unpackAttempts(text: string): readonly AttemptRecord[] {
  return JSON.parse(text) as readonly AttemptRecord[];
}
