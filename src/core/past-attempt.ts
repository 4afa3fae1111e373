import type { EpochMs } from './brand';
import type { AttemptOutcome } from './fate';
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
}

/** The attempts as a row stores them. */
export function storePast(past: readonly PastAttempt[]): readonly unknown[] {
  return past.map(({ attempt: n, token, deployment: by, start, end, outcome }) => ({
    ...{ n, token, by, start },
    ...(end === undefined ? {} : { end }),
    outcome,
  }));
}

export function readPast(member: Readonly<Record<string, unknown>>): PastAttempt | undefined {
  const { n, token, by, start, end } = member;
  const outcome = ATTEMPT_OUTCOMES.find((candidate) => candidate === member['outcome']);
  if (outcome === undefined || typeof n !== 'number' || typeof token !== 'number') return undefined;
  if (typeof by !== 'string' || !isInstant(start)) return undefined;
  return { attempt: n, token, deployment: by, start, end: isInstant(end) ? end : undefined, outcome };
}
