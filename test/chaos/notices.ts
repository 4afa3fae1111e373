import type { JobName } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { noticeId } from '../../src/core/notice';
import type { Evidence, LedgerLine, Span } from './evidence';

/** The job whose runs fail and succeed by turns, and tell people. */
export const TOLD = 'told' as JobName;

const FAILURES = new Set(['failed', 'timedOut', 'stalled']);

/** The ids of the notices that the runs of the job call for: at each change from success to failure, and back. */
export function expectedNotices(ledger: readonly LedgerLine[], { until }: Span): string[] {
  const runs = ledger
    .filter(({ job, state, scheduledFor }) => job === TOLD && state === 'final' && scheduledFor <= until)
    .filter(({ outcome }) => outcome === 'succeeded' || FAILURES.has(outcome))
    .toSorted((a, b) => a.scheduledFor - b.scheduledFor);
  const ids: string[] = [];
  let isFailing = false;
  for (const { scheduledFor, outcome } of runs) {
    const fails = FAILURES.has(outcome);
    if (fails !== isFailing) ids.push(noticeId(TOLD, fails ? 'failed' : 'recovered', recordKey(scheduledFor)));
    isFailing = fails;
  }
  return ids;
}

/** Notices that the receiver has never accepted. */
export function untold({ ledger, span, told = [] }: Pick<Evidence, 'ledger' | 'span' | 'told'>): string[] {
  const accepted = new Set(told.filter(({ how }) => how === 'accepted').map(({ id }) => id));
  return expectedNotices(ledger, span).filter((id) => !accepted.has(id));
}

/** Notices that the receiver has more than twice. */
export function toldTooOften({ told = [] }: Pick<Evidence, 'told'>): string[] {
  const counts = new Map<string, number>();
  for (const { id, how } of told) if (how !== 'refused') counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts].flatMap(([id, count]) => (count > 2 ? [`${id} came ${String(count)} times`] : []));
}

/** Whether a notice came from two deployments. */
export function isSentByTwo({ told = [] }: Pick<Evidence, 'told'>): boolean {
  return told.some(({ id, from }) => told.some((other) => other.id === id && other.from !== from));
}
