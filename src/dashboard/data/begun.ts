import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { now } from './clock';
import type { Job } from './model';

type Claimed = Pick<Job, 'state' | 'detail' | 'currentRun'>;

/** Whether the due time has come for which a job was claimed ahead. */
function hasBegun({ state, currentRun }: Claimed, at: number): boolean {
  return state === 'waiting' && currentRun?.startedAt != null && Date.parse(currentRun.startedAt) <= at;
}

/** A job as it is at an instant after the answer: one that was claimed ahead runs from its due time on. */
export function asOf<J extends Claimed>(job: J, at: number): J {
  return hasBegun(job, at) ? { ...job, state: 'running', detail: null } : job;
}

/** The jobs of an answer {@link asOf} now. The page is drawn again only when one of them begins. */
export function useBegun<J extends Claimed>(jobs: readonly J[]): readonly J[] {
  const begun = useMemo(() => computed(() => jobs.filter((job) => hasBegun(job, now.value)).length), [jobs]);
  return useMemo(() => (begun.value === 0 ? jobs : jobs.map((job) => asOf(job, now.peek()))), [jobs, begun.value]);
}
