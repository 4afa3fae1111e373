import type { JobName, LeaseId } from '../../core/brand';
import { orchestrationId } from '../../core/key';
import type { Coordinator, Report } from '../coordinator';
import { type Hub, withinHub } from '../hub';
import { type AttemptInput, type AttemptResult, type HandedOver, type Together, unpackRow } from '../message';
import { runAttempt } from './attempt';
import { runItem } from './item';

interface Place {
  readonly coordinator: Coordinator;
  readonly report: Report;
}

/**
 * Makes the claims of one activity side by side. A run that is not over after its attempt continues at once in its own
 * orchestration: the activity lasts as long as its slowest handler. Decision 129.
 *
 * @returns what became of each claim
 */
export function runTogether(
  { claims }: Together,
  placeOf: (job: string) => Place,
  hub: Pick<Hub, 'start'>,
): Promise<readonly string[]> {
  return Promise.all(claims.map((claim) => runOne(claim, placeOf(claim.job), hub)));
}

/** Never rejects: the other claims of the activity have their own ends. */
async function runOne(claim: HandedOver, { coordinator, report }: Place, hub: Pick<Hub, 'start'>): Promise<string> {
  const { job } = claim;
  let result: AttemptResult;
  try {
    result = await dispatch(coordinator, claim, report);
  } catch (error) {
    // The lease expires, and a tick takes the run over.
    report.log('error', `job "${job}": its attempt failed:`, error);
    return 'failed';
  }
  if (result.kind === 'ended') return result.record.outcome ?? result.kind;
  if (result.kind !== 'again' && result.kind !== 'fanOut' && result.kind !== 'orchestrate') return result.kind;
  const continued = { kind: 'continued', result } as const;
  try {
    await withinHub(coordinator.clock, () => hub.start(ownOrchestration(claim), continued));
    return result.kind;
  } catch (error) {
    const text = `job "${job}": the orchestration that continues its run could not be started, so a tick continues it:`;
    report.log('warn', text, error);
    return 'notContinued';
  }
}

/** The id that the run's orchestration would have if its claim had been handed over by itself. */
function ownOrchestration({ job, leaseId, acquiredAt, row }: HandedOver): string {
  return orchestrationId(job as JobName, unpackRow(row).run?.scheduledFor ?? acquiredAt, leaseId as LeaseId);
}

/** Carries out what a task hub has delivered: a proof that it delivers, an item of a fan-out, or an attempt. */
export async function dispatch(coordinator: Coordinator, input: AttemptInput, report: Report): Promise<AttemptResult> {
  if (input.kind === 'probe') return { kind: 'proven' };
  return input.kind === 'item' ? runItem(coordinator, input, report) : runAttempt(coordinator, input, report);
}
