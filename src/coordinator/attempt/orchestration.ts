import type { JobName, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { itemsDeadlineMs } from '../../core/fan-out';
import { runIdOf } from '../../core/key';
import {
  type OrchestrationRun,
  SUCCEEDS_AFTER_MS,
  failedOrchestration,
  instanceIdOf,
  parseOrchestrationEnd,
} from '../../core/orchestration';
import { errorText } from '../../core/recorded-error';
import type { Kept } from '../../handler/handlers';
import type { OrchestrationHandler } from '../../handler/define-orchestration';
import type { JobContext } from '../../handler/handler';
import { StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import type { HeldRow } from '../held';
import { keepEndOf } from '../run-pieces';
import { type AttemptResult, type ClaimInput, unpackRow } from '../message';
import type { Left, Stage } from './fan-out';
import { endedBy, runHandler } from './run-handler';
import type { Attempt } from './waits';

/** The wait before an end that could not be kept is sent again. */
const KEEP_AGAIN_MS: Millis = 10_000;
/** What a claim keeps before it starts an orchestration: the end of an earlier one no longer counts. */
const STARTED = '{}';

class OrchestrationFailedError extends Error {
  override readonly name = 'OrchestrationFailedError';
}

/** One attempt of a run that is an orchestration. It starts one, or reads how the one before it has ended. Decision 132. */
export async function orchestrationStage(
  attempt: Attempt,
  { orchestrator }: OrchestrationHandler,
  input: unknown,
  { kept, isTimeOver }: { readonly kept: Kept; readonly isTimeOver: boolean },
): Promise<Stage> {
  const { held } = attempt;
  const { job, key, row } = held;
  const { name } = job.spec;
  const isFirst = row.attempt === 1;
  const end = isFirst ? undefined : parseOrchestrationEnd((await kept.read()) ?? '');
  if (end !== undefined) {
    const handlerCall = await runHandler(attempt, async ({ log }) => {
      if (end.state === 'succeeded') return resultOf(end.result, log);
      // Another attempt starts another orchestration.
      await kept.keep('');
      throw new OrchestrationFailedError(errorText(end.error));
    });
    return { handlerCall, hasEnded: true };
  }
  if (isTimeOver) {
    const message = `the orchestration of job "${name}" did not end within the job's timeout`;
    return { handlerCall: endedBy(held, 'timedOut', { name: 'OrchestrationTimeoutError', message }) };
  }
  const instanceId = instanceIdOf(name, row.run?.scheduledFor ?? 0, row.token);
  let text = '';
  const handlerCall = await runHandler(attempt, async (context) => {
    if (!isFirst) await untilOthersStopped(held, attempt.aborter.signal);
    await kept.keep(STARTED);
    const cronlease: OrchestrationRun = {
      job: name,
      runId: runIdOf(name, key),
      scheduledFor: context.scheduledFor.toISOString(),
      attempt: context.attempt,
      token: context.fence.token,
    };
    text = JSON.stringify({ input, cronlease });
    context.log(`orchestration ${instanceId}`);
  });
  if (handlerCall.end.kind !== 'returned') return { handlerCall };
  const left: Left = {
    count: 1,
    deadlineMs: itemsDeadlineMs(job.spec, undefined),
    answer: (_until, next) => ({ kind: 'orchestrate', orchestrator, instanceId, input: text, next }),
  };
  return { handlerCall, left };
}

/**
 * The activities of the orchestration of an earlier claim trust until then. Decision 133.
 *
 * @throws the reason of the signal
 */
export async function untilOthersStopped(
  { coordinator: { clock }, claimed }: HeldRow,
  signal?: AbortSignal,
): Promise<void> {
  await sleep(clock, Math.max(0, SUCCEEDS_AFTER_MS - (clock.monotonic() - claimed.monotonic)), signal);
  signal?.throwIfAborted();
}

/** The largest result in a ledger record, in bytes of JSON. */
const RESULT_LIMIT = 32 * 1024;

/** A result that is larger than a record may hold is kept as the beginning of its JSON text. */
function resultOf(json: string, log: JobContext['log']): unknown {
  if (Buffer.byteLength(json) <= RESULT_LIMIT) return JSON.parse(json);
  log.warn('the result has more than 32 KB of JSON: the ledger keeps the beginning of its text');
  let kept = json.slice(0, RESULT_LIMIT);
  while (Buffer.byteLength(JSON.stringify(kept)) > RESULT_LIMIT) kept = kept.slice(0, Math.floor(kept.length * 0.9));
  return kept;
}

/**
 * Keeps the end of an orchestration before the claim that settles its run. If that claim fails, or its holder dies, any
 * later one finds the end, and does not start the orchestration again.
 *
 * @returns an answer to the run's orchestration where the end could not be kept
 */
export async function keepEnd(
  coordinator: Coordinator,
  input: ClaimInput,
  report: Report,
): Promise<AttemptResult | undefined> {
  if (input.kind !== 'again' || input.orchestrated === undefined) return undefined;
  const { serviceTime } = coordinator;
  const { run, token } = unpackRow(input.row);
  try {
    const end = parseOrchestrationEnd(input.orchestrated) ?? failedOrchestration('its end cannot be read');
    await keepEndOf(coordinator, { job: input.job as JobName, key: run?.key ?? '', token }, end);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('warn', `job "${input.job}": the end of its orchestration will be stored again:`, error);
    return { kind: 'again', notBefore: serviceTime.now() + KEEP_AGAIN_MS, next: input };
  }
}
