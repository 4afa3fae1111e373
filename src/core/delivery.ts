import type { EpochMs, Millis } from './brand';
import {
  type RecordOf,
  decodeFields,
  encodeFields,
  instantIn,
  isInstant,
  isText,
  listIn,
  optional,
  textIn,
} from './metadata';
import type { Notice } from './notice';

/**
 * How the delivery to one receiver ended. `off`: the receiver was switched off. `givenUp`: the last try failed, or its
 * receiver is not known. `digest`: a digest carries the notice. `over`: its trouble was over before it could be sent.
 */
const ENDS = ['sent', 'off', 'givenUp', 'digest', 'over'] as const;
export type DeliveryEnd = (typeof ENDS)[number];

/** The delivery of one notice to one receiver. */
export interface ReceiverState {
  readonly name: string;
  /** Tries that failed. */
  readonly tries: number;
  /** When it may be tried next. */
  readonly next: EpochMs;
  /** Undefined: it is still to be delivered. */
  readonly end: DeliveryEnd | undefined;
}

const DELIVERY = {
  /** When the state changed, which the notice reports. */
  at: instantIn('at'),
  /** The process that sends it until `until`. No one else sends it before. */
  by: textIn('by'),
  until: instantIn('until'),
  to: listIn('to', readState, storeState),
  /** When every receiver had its end. */
  doneAt: optional(instantIn('done')),
};

/** The delivery of a notice: the metadata of its blob. */
export interface Delivery extends RecordOf<typeof DELIVERY> {}

/**
 * The waits after each failed try, as Standard Webhooks recommends: ten tries in three days.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
export const TRY_AGAIN_MS: readonly Millis[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
/** A receiver that says that it is overloaded gets at least this long. */
const THROTTLED_MS: Millis = MINUTE;
/** A `Retry-After` beyond this is a mistake of the receiver. */
const RETRY_AFTER_AT_MOST_MS: Millis = 24 * HOUR;

export type TryEnd =
  | { readonly kind: 'sent' }
  /** The receiver wants nothing more: HTTP 410. */
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'failed';
      /** Without secrets, for a log. */
      readonly why: string;
      readonly isThrottled: boolean;
      readonly retryAfterMs: Millis | undefined;
    };

/** How long the process that creates a notice, or takes one over, has to send it. */
export const SEND_WITHIN_MS: Millis = 90_000;

/** Sends nothing: so far, no process has begun to send the notice. */
export const NOBODY = '-';

export function newDelivery({ at }: Pick<Notice, 'at'>, to: readonly string[], by: string, until: EpochMs): Delivery {
  return { at, by, until, to: to.map((name) => ({ name, tries: 0, next: 0, end: undefined })), doneAt: undefined };
}

export function afterTry(state: ReceiverState, end: TryEnd, now: EpochMs): ReceiverState {
  switch (end.kind) {
    case 'sent':
      return { ...state, end: 'sent' };
    case 'gone':
      return { ...state, end: 'off' };
    case 'failed': {
      const wait = TRY_AGAIN_MS[state.tries];
      const tries = state.tries + 1;
      if (wait === undefined) return { ...state, tries, end: 'givenUp' };
      const asked = Math.min(RETRY_AFTER_AT_MOST_MS, end.retryAfterMs ?? 0);
      return { ...state, tries, next: now + Math.max(wait, asked, end.isThrottled ? THROTTLED_MS : 0) };
    }
  }
}

/** The delivery with this state of one receiver. It is done once all have their end. */
export function withState(delivery: Delivery, state: ReceiverState, now: EpochMs): Delivery {
  const to = delivery.to.map((one) => (one.name === state.name ? state : one));
  return { ...delivery, to, doneAt: to.every(({ end }) => end !== undefined) ? now : undefined };
}

/** The receivers that may be tried now. */
export function dueReceivers({ to, doneAt }: Delivery, now: EpochMs): readonly ReceiverState[] {
  return doneAt === undefined ? to.filter(({ end, next }) => end === undefined && next <= now) : [];
}

/** Whether a process that is not its sender may take the notice over. */
export function mayTakeOver(delivery: Delivery, now: EpochMs): boolean {
  return delivery.until <= now && dueReceivers(delivery, now).length > 0;
}

export function encodeDelivery(delivery: Delivery): Readonly<Record<string, string>> {
  return encodeFields<Delivery>(DELIVERY, delivery);
}

/** Throws `ForeignMetadataError` when the metadata is not a notice's. */
export function decodeDelivery(metadata: Readonly<Record<string, string>>): Delivery {
  return decodeFields<Delivery>(DELIVERY, metadata);
}

function storeState({ name, tries, next, end }: ReceiverState): unknown {
  return { name, tries: tries === 0 ? undefined : tries, next: next === 0 ? undefined : next, end };
}

function readState(member: Readonly<Record<string, unknown>>): ReceiverState | undefined {
  const { name, tries = 0, next = 0 } = member;
  const end = ENDS.find((one) => one === member['end']);
  if (!isText(name) || typeof tries !== 'number' || !isInstant(next)) return undefined;
  return { name, tries, next, end };
}
