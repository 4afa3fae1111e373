import type { LeaseStore } from '../lease/store';
import { type ChangeOptions, changeControl } from './change-control';
import { currentRun } from './job-state';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';

export interface CancelledRun {
  readonly runId: string;
  /** When the cancel was requested, by the storage service's clock. */
  readonly requestedAt: number;
  /**
   * `holder`: an attempt is running, and ends at its next renewal. `tick`: the run is waiting, and the next tick ends
   * it. `caller`: no file has the job, so that no tick looks at it, and it was ended at once.
   */
  readonly endedBy: 'holder' | 'tick' | 'caller';
}

/**
 * Requests the cancellation of a job's run.
 *
 * @throws OperatorError `NothingRuns`; `OtherRun` if the run in progress is not the wanted one
 */
export function cancelRun(
  store: LeaseStore,
  subject: Subject,
  options?: ChangeOptions & { readonly runId?: string | undefined },
): Promise<CancelledRun> {
  const { name } = subject;
  return changeControl(
    store,
    subject,
    async (state) => {
      const { row, control, now, lease } = state;
      const runId = await currentRun(store, name, state, options);
      if (runId === undefined) {
        const unseen = row === undefined ? ': no coordinator has seen it yet' : '';
        throw new OperatorError('NothingRuns', `job "${name}" has no run in progress${unseen}`);
      }
      if (options?.runId !== undefined && options.runId !== runId) {
        throw new OperatorError('OtherRun', `run ${options.runId} of job "${name}" is over: ${runId} is in progress`);
      }
      const endedBy = lease === 'held' ? 'holder' : 'tick';
      const result: CancelledRun = { runId, requestedAt: now, endedBy };
      return { control: control.cancel === runId ? undefined : { ...control, cancel: runId }, result };
    },
    options,
  );
}
