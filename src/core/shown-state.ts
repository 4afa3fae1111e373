/**
 * The states of a job as lists show it, worst first. `failing` is a job whose last run failed, whether or not its next
 * run is in progress; `acknowledged` one that is overdue or failing, which someone looks after.
 */
export const SHOWN_STATES = [
  'unreadable',
  'overdue',
  'failing',
  'acknowledged',
  'retrying',
  'running',
  'waiting',
  'idle',
  'paused',
  'disabled',
] as const;
export type ShownState = (typeof SHOWN_STATES)[number];

/**
 * The state of a job without its incident, the first that applies:
 *
 * - `unreadable`: something other than cronlease wrote its row or control, so that it is left alone.
 * - `paused`, `disabled`: nothing new is claimed, by an operator or by the jobs file.
 * - `overdue`: it has been without a success for longer than its `alertAfter`.
 * - `retrying`: its run waits for its next attempt, or its holder has died and a tick is about to take it over.
 * - `running`: a handler runs, or the items of a fan-out do.
 * - `waiting`: a due time is claimed ahead, or waits to be claimed, or a manual run does.
 * - `idle`: none of these.
 */
export const JOB_STATES = SHOWN_STATES.filter((state) => state !== 'failing' && state !== 'acknowledged');
export type JobStateName = (typeof JOB_STATES)[number];

/** The states that want a person. */
export const ATTENTION: readonly ShownState[] = ['unreadable', 'overdue', 'failing'];

/** What a list has of a job. */
interface ListedJob {
  readonly state: JobStateName;
  /** How many runs in a row have failed. */
  readonly failures: number;
  readonly lastRun: { readonly outcome: string | null } | null;
  readonly incident: { readonly acknowledgement: object | null } | null;
}

export function shownState(job: ListedJob): ShownState {
  const bad = badState(job);
  if (bad === undefined) return job.state;
  return isAcknowledged(job) ? 'acknowledged' : bad;
}

/** Whether someone looks after the failures of the job. */
export function isAcknowledged({ incident }: Pick<ListedJob, 'incident'>): boolean {
  return incident !== null && incident.acknowledgement !== null;
}

/** Whether the job is overdue or failing. One that was paused or disabled on purpose is neither. */
export function badState(job: Pick<ListedJob, 'state' | 'failures' | 'lastRun'>): 'overdue' | 'failing' | undefined {
  const { state } = job;
  if (state === 'overdue') return state;
  const stands = state === 'unreadable' || state === 'paused' || state === 'disabled';
  return !stands && isFailing(job) ? 'failing' : undefined;
}

/** Whether its last run failed. A cancelled run is not a failure. */
export function isFailing({ failures, lastRun }: Pick<ListedJob, 'failures' | 'lastRun'>): boolean {
  const outcome = lastRun?.outcome ?? undefined;
  return failures > 0 || (outcome !== undefined && isBad(outcome));
}

export function isBad(outcome: string): boolean {
  return outcome === 'failed' || outcome === 'timedOut' || outcome === 'stalled';
}

/**
 * Whether a person should look at the job. One that was paused or disabled on purpose is left out, and so is one whose
 * incident was acknowledged. A run or a manual run that waits for a job that is no longer in the file is waited for
 * without end.
 *
 * @param hasFile false: the jobs of the file are not known
 */
export function needsAttention(
  job: ListedJob & { readonly schedule: string | null; readonly manualRuns: number },
  hasFile = true,
): boolean {
  const { schedule, state, manualRuns } = job;
  const waits = state === 'retrying' || (state === 'waiting' && manualRuns > 0);
  return ATTENTION.includes(shownState(job)) || (hasFile && schedule === null && waits);
}
