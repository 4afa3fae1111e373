import type { JobSpec } from '../../../src/core/job';
import type { Row } from '../../../src/core/row';
import { type JobFacts, type Report, keyText, short } from '../world/facts';

/** The uncorrected error of a clock, and the resolution of the service's Date. */
const CLOCKS_MS = 3_500;

/** Checks a run that waits for a retry: its not-before time is the true end of its attempt plus the back-off. */
export function checkNotBefore(facts: JobFacts, row: Row, spec: JobSpec, now: number, report: Report): void {
  const { notBefore = 0, run } = row;
  // A drained attempt is retried at once.
  if (row.phase !== 'retrying' || notBefore === 0 || run === undefined) return;
  const { backoffMs, factor, maxBackoffMs, jitter } = spec.retry;
  const most = Math.min(maxBackoffMs, backoffMs * factor ** Math.max(0, row.attempt - row.uncountedAttempts - 1));
  const off = facts.writerError + CLOCKS_MS;
  const what = `${keyText(run.key)} waits until ${short(notBefore)} after attempt ${String(row.attempt)}`;
  if (notBefore > now + most + off) {
    report('waitsTooLong', facts.name, `${what}, and it is ${short(now)}`);
  }
  const ended = facts.endedAt.get(row.token);
  if (ended !== undefined && jitter === 'none' && notBefore < ended + most - off) {
    report('waitsTooShort', facts.name, `${what}, which ended at ${short(ended)}`);
  }
}
