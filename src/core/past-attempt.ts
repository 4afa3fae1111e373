import { given } from './given';
import { type AttemptLoss, readLoss, storeLoss } from './attempt-loss';
import type { EpochMs } from './brand';
import type { AttemptOutcome } from './outcome';
import { isInstant } from './metadata';

const ATTEMPT_OUTCOMES = [
  'succeeded',
  'failed',
  'timedOut',
  'stalled',
  'cancelled',
  'holderLost',
  'draining',
  'planned',
] as const satisfies readonly AttemptOutcome[];

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

/** The attempts as a row stores them. It has room for only the newest loss. */
export function storePast(past: readonly PastAttempt[]): readonly unknown[] {
  const newest = past.findLast(({ loss }) => loss !== undefined);
  return past.map((one) => ({
    n: one.attempt,
    token: one.token,
    by: one.deployment,
    start: one.start,
    ...given({ end: one.end }),
    outcome: one.outcome,
    ...(one === newest && one.loss !== undefined ? { why: storeLoss(one.loss) } : {}),
  }));
}

export function readPast(member: Readonly<Record<string, unknown>>): PastAttempt | undefined {
  const { n, token, by, start, end, why } = member;
  const loss = readLoss(why);
  const outcome = ATTEMPT_OUTCOMES.find((candidate) => candidate === member['outcome']);
  if (outcome === undefined || typeof n !== 'number' || typeof token !== 'number') return undefined;
  if (typeof by !== 'string' || !isInstant(start)) return undefined;
  const past = { attempt: n, token, deployment: by, start, end: isInstant(end) ? end : undefined, outcome };
  return loss === undefined ? past : { ...past, loss };
}
