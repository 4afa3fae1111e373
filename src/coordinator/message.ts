import type { Claim } from '../core/decide/situation';
import type { PlannedItem } from '../core/fan-out';
import type { Reason, RanOutcome } from '../core/outcome';
import type { Asked } from '../core/origin';
import type { AttemptRecord, LedgerRecord } from '../core/record';
import { type Row, decodeRow, encodeRow } from '../core/row';
import type { Metadata } from '../lease/store';
import type { SentAt } from './telemetry';

/**
 * The message through Durable from a tick to an attempt, and from an attempt to the next. It holds instants as numbers,
 * and rows and attempts as JSON text, because the Durable extension may rewrite times in JSON in another form.
 * Decision 049.
 */
export type AttemptInput =
  /** A no-op that shows that the task hub works. */
  | { readonly kind: 'probe' }
  /** The tick holds the lease, and the attempt makes the claim under it. */
  | {
      readonly kind: 'handedOver';
      readonly job: string;
      readonly leaseId: string;
      readonly leaseMs: number;
      readonly etag: string;
      /** The row's lease before the acquisition, which the decision is about. */
      readonly lease: 'available' | 'expired';
      /** The service's Date of the acquisition. */
      readonly acquiredAt: number;
      /** The row to write, except for `execution` and `started`: {@link packRow}. */
      readonly row: string;
      readonly what: Claim['what'];
      /** The run is taken before its items' deadline, because they are silent. The attempt checks this again. */
      readonly isSilent?: true;
      /** The attempt ends the run with this outcome and does not call the handler. */
      readonly end: { readonly outcome: RanOutcome; readonly reason: Reason } | null;
      /** Absent where the tick's deployment exports nothing. */
      readonly sent?: SentAt;
    }
  /** The run's orchestration continues after its not-before time: the attempt acquires the lease itself. */
  | {
      readonly kind: 'again';
      readonly job: string;
      readonly etag: string;
      /** The row as the attempt before wrote it: {@link packRow}. */
      readonly row: string;
      /** This orchestration's earlier attempts, with their errors: {@link packAttempts}. */
      readonly known: string;
      /** How the app's orchestration for which the run waited has ended, as JSON text. */
      readonly orchestrated?: string;
    }
  | ItemInput;

export type HandedOver = Extract<AttemptInput, { kind: 'handedOver' }>;

export type AgainInput = Extract<AttemptInput, { kind: 'again' }>;

export type ClaimInput = HandedOver | AgainInput;

/** Claims that one activity makes side by side. */
export interface Together {
  readonly kind: 'together';
  readonly claims: readonly HandedOver[];
}

/** Claims that a tick has acquired together, in one orchestration. */
export interface Batch {
  readonly kind: 'batch';
  readonly activities: readonly Together[];
}

/** A run of a batch that is not over after its attempt. */
export interface Continued {
  readonly kind: 'continued';
  readonly result: Extract<AttemptResult, { kind: 'again' | 'fanOut' | 'orchestrate' }>;
}

/** The message with which an orchestration of runs starts. */
export type OrchestrationInput = AttemptInput | Batch | Continued;

export type ActivityInput = AttemptInput | Together;

/** Items of one run that are worked on one after another. */
export interface Lane {
  readonly job: string;
  readonly key: string;
  /** The row's token when it was left to the items. With another token, the run has continued without them. */
  readonly token: number;
  /** The row's not-before time: after it, another holder may continue the run. */
  readonly until: number;
  /** What a manual run has besides its time: the items' handlers see it too. */
  readonly asked?: Pick<Asked, 'rerunOf' | 'hasInput'>;
  /** Items of a back-filled run wait for those of all others. */
  readonly isBackfilled?: true;
  /** How often one item is tried. */
  readonly attempts: number;
  readonly items: readonly PlannedItem[];
}

export interface ItemInput extends Omit<Lane, 'items' | 'attempts'>, PlannedItem {
  readonly kind: 'item';
  /** The number of this item's attempt, from 1. */
  readonly attempt: number;
  /** The item waits until then. A call before that time only shows that its lane is alive. */
  readonly notBefore?: number;
  /** Absent: no earlier call is known. */
  readonly worked?: Worked;
}

/** The calls of an item's handler so far. */
export interface Worked {
  readonly ms: number;
  /** When the first one began, by the service's clock. */
  readonly since: number;
}

/** What an attempt returns to its orchestration. */
export type AttemptResult =
  | { readonly kind: 'ended'; readonly record: LedgerRecord }
  | { readonly kind: 'again'; readonly notBefore: number; readonly next: AttemptInput }
  /** The orchestration works on the run's items, and then continues the run. */
  | { readonly kind: 'fanOut'; readonly lanes: readonly Lane[]; readonly next: AttemptInput }
  /** The orchestration starts one of the app's, and continues the run once that has ended. */
  | {
      readonly kind: 'orchestrate';
      readonly orchestrator: string;
      readonly instanceId: string;
      /** Its input, as JSON text. */
      readonly input: string;
      readonly next: Extract<AttemptInput, { kind: 'again' }>;
    }
  /** `done`: the end of the item is stored. `stopped`: the run wants no more items. */
  | { readonly kind: 'item'; readonly state: 'done' | 'stopped' }
  | {
      readonly kind: 'item';
      readonly state: 'again';
      readonly attempt: number;
      readonly notBefore: number;
      /** The lane calls again by then, even if the item waits longer, so that its run does not look abandoned. */
      readonly beatBy: number;
      readonly worked?: Worked;
    }
  /** Another execution, a tick or a successor continues the run. */
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
