import type { EpochMs, Millis } from './brand';
import { isInstant, isText } from './metadata';
import { ATTEMPT_OUTCOMES, type AttemptOutcome, type Reason } from './outcome';
import { showSpan } from './show-time';

/**
 * Why an attempt could not keep its lease, as far as its holder knows. `refused`: storage refused the renewals. `blocked`:
 * the handler kept the event loop busy, so that nothing was renewed; `blockedBeside`: it, or another one beside it.
 * `stopped`: the process was not running.
 */
export type AttemptLoss =
  | { readonly kind: 'refused' }
  | { readonly kind: (typeof STANDSTILLS)[number]; readonly ms: Millis; readonly leaseMs: Millis };

const STANDSTILLS = ['blocked', 'blockedBeside', 'stopped'] as const;
/** A row has little room. */
const LETTERS = ['b', 'n', 's'] as const;

const SUBJECTS = {
  blocked: 'the handler blocked the event loop',
  blockedBeside: 'a handler of its instance blocked the event loop',
  stopped: 'its process stood still',
} as const;

export function lossText(loss: AttemptLoss): string {
  if (loss.kind === 'refused') return 'storage refused the renewals of its lease';
  return `${SUBJECTS[loss.kind]} for ${showSpan(loss.ms)}, past its lease of ${showSpan(loss.leaseMs)}`;
}

export function lossReason(loss: AttemptLoss | undefined): Reason {
  switch (loss?.kind) {
    case 'refused':
      return 'storageRefused';
    case 'blocked':
    case 'blockedBeside':
      return 'eventLoopBlocked';
    default:
      return 'leaseLost';
  }
}

/** The name of the log in which the attempt of this token notes its loss. */
export function lossNote(token: number): string {
  return `lost-${String(token)}`;
}

/** The loss as an attempt that ended without effect has it in its record. */
export function lossError(loss: AttemptLoss): { readonly name: string; readonly message: string } {
  return { name: 'LeaseLostError', message: lossText(loss) };
}

/** The loss as a row, or a note, stores it. */
export function storeLoss(loss: AttemptLoss): string {
  if (loss.kind === 'refused') return loss.kind;
  return `${LETTERS[STANDSTILLS.indexOf(loss.kind)] ?? ''} ${String(loss.ms)} ${String(loss.leaseMs)}`;
}

export function readLoss(text: unknown): AttemptLoss | undefined {
  if (text === 'refused') return { kind: text };
  const [, letter, ms, leaseMs] = /^([bns]) (\d{1,9}) (\d{1,9})$/.exec(String(text)) ?? [];
  const kind = STANDSTILLS.find((_, index) => LETTERS[index] === letter);
  return kind === undefined ? undefined : { kind, ms: Number(ms), leaseMs: Number(leaseMs) };
}

/** An attempt that is over, as the row holds it. If its holder died, `end` is undefined and `start` is the claim. */
export interface PastAttempt {
  readonly attempt: number;
  readonly token: number;
  readonly deployment: string;
  readonly start: EpochMs;
  readonly end: EpochMs | undefined;
  readonly outcome: AttemptOutcome;
  /** Why it lost its lease, where its holder lived and a later claim was made in the same process. */
  readonly loss?: AttemptLoss;
}

/** An attempt as a row stores it. Of the losses, a row has room for only the newest. */
export function storePast(one: PastAttempt, _index: number, past: readonly PastAttempt[]): unknown {
  const { attempt: n, token, deployment: by, start, end, outcome, loss } = one;
  const isNewest = one === past.findLast((other) => other.loss !== undefined);
  return { n, token, by, start, end, outcome, why: isNewest && loss !== undefined ? storeLoss(loss) : undefined };
}

export function readPast(member: Readonly<Record<string, unknown>>): PastAttempt | undefined {
  const { n, token, by, start, end, why } = member;
  const outcome = ATTEMPT_OUTCOMES.find((candidate) => candidate === member['outcome']);
  if (outcome === undefined || typeof n !== 'number' || typeof token !== 'number') return undefined;
  if (!isText(by) || !isInstant(start)) return undefined;
  const past = { attempt: n, token, deployment: by, start, end: isInstant(end) ? end : undefined, outcome };
  const loss = readLoss(why);
  return loss === undefined ? past : { ...past, loss };
}
