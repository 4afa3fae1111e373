import { servedFence } from '../coordinator/activity-fence';
import { isObject } from '../core/metadata';
import type { OrchestrationRun } from '../core/orchestration';
import type { OrchestrationFence } from '../lease/fence';

/** `fenceOf` was called with something other than an orchestration's `cronlease`, or in another program. */
export class FenceOfError extends Error {
  readonly code = 'FenceOf';
  override readonly name = 'FenceOfError';
}

/**
 * The fence of an orchestration that is a job, for its activities: `await fenceOf(cronlease).check()`. It is of use in
 * activities only, because an orchestrator must not read storage.
 *
 * @param cronlease the member of the orchestrator's input, passed on to the activity
 * @throws FenceOfError
 */
export function fenceOf(cronlease: OrchestrationRun): OrchestrationFence {
  const given: unknown = cronlease;
  const isRun =
    isObject(given) &&
    typeof given['job'] === 'string' &&
    typeof given['runId'] === 'string' &&
    typeof given['token'] === 'number';
  if (!isRun) {
    throw new FenceOfError(
      `fenceOf: the argument is ${JSON.stringify(given)?.slice(0, 200) ?? String(given)}: pass the member "cronlease" of ` +
        "the orchestrator's input on to the activity",
    );
  }
  const fence = servedFence(cronlease);
  if (fence === undefined) {
    throw new FenceOfError(
      'fenceOf: this program does not coordinate jobs. Call registerCoordinator while the app loads',
    );
  }
  const { token, check, write } = fence;
  return { token, check, write };
}
