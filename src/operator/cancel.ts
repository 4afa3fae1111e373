import type { CallOptions, LeaseStore } from '../lease/store';
import { changeControl } from './change-control';
import { currentRun } from './job-state';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';

export interface CancelledRun {
  readonly runId: string;
  /** When the cancel was requested, by the storage service's clock. */
  readonly requestedAt: number;
  /**
   * `holder`: an attempt is running, and ends at its next renewal. `tick`: the run is waiting, and the next tick ends
   * it.
   */
  readonly endedBy: 'holder' | 'tick';
}

/**
 * Requests the cancellation of a job's run.
 *
 * @throws OperatorError `NothingRuns`
 */
export function cancelRun(store: LeaseStore, subject: Subject, options?: CallOptions): Promise<CancelledRun> {
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
      const endedBy = lease === 'held' ? 'holder' : 'tick';
      const result: CancelledRun = { runId, requestedAt: now, endedBy };
      return { control: control.cancel === runId ? undefined : { ...control, cancel: runId }, result };
    },
    options,
  );
}
