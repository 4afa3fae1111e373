import type { OrchestrationContext } from 'durable-functions';
import type { AttemptInput, AttemptResult } from '../coordinator/message';
import type { LedgerRecord } from '../core/record';

/** The orchestrator's name. From its second version on it carries a version, and the old one stays for a release. */
export const RUN = 'cronleaseRun';
export const ATTEMPT = 'cronleaseAttempt';

type Yielded = ReturnType<OrchestrationContext['df']['callActivity']>;

/**
 * One run: attempt, durable timer, next attempt. Deterministic and thin: everything is decided inside the attempts.
 *
 * @returns the ledger record, or why this orchestration has nothing more to do with the run
 */
export function* orchestrateRun(
  context: OrchestrationContext,
): Generator<Yielded, LedgerRecord | { readonly lost: string } | 'proven', AttemptResult> {
  let input: AttemptInput = context.df.getInput<AttemptInput>();
  for (;;) {
    const result: AttemptResult = yield context.df.callActivity(ATTEMPT, input);
    switch (result.kind) {
      case 'ended':
        return result.record;
      case 'lost':
        return { lost: result.why };
      case 'proven':
        return 'proven';
      case 'again':
        yield context.df.createTimer(new Date(result.notBefore));
        input = result.next;
    }
  }
}
