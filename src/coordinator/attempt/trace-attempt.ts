import type { JobName } from '../../core/brand';
import { hasRun } from '../../core/outcome';
import type { Coordinator, Report } from '../coordinator';
import { type AttemptResult, type ClaimInput, unpackRow } from '../message';
import { type Span, UNTRACED } from '../telemetry';
import type { Claimed } from './claim';

/** The trace of one attempt, from the arrival of its message. */
export interface AttemptTrace {
  readonly span: Span;
  /** Traces the claim. */
  claiming(claim: Promise<Claimed | string>): Promise<Claimed | string>;
  end(result: AttemptResult | 'error'): void;
}

/** Without telemetry it does nothing, and does not even read the message. */
export function traceAttempt(coordinator: Coordinator, input: ClaimInput, { invocation }: Report): AttemptTrace {
  const { telemetry, jobs } = coordinator;
  const job = jobs.get(input.job as JobName)?.spec;
  const key = telemetry === undefined || job === undefined ? undefined : unpackRow(input.row).run?.key;
  if (telemetry === undefined || job === undefined || key === undefined) return NO_TRACE;
  const run = { job, key };
  if (input.kind === 'handedOver' && input.sent !== undefined) telemetry.arrived(run, input.sent);
  const span = telemetry.begin('attempt', run, { invocation });
  let claimed: Claimed | undefined;
  return {
    span,
    async claiming(claim) {
      const claimSpan = span.begin('claim');
      let result: 'won' | 'lost' | 'unknown' = 'unknown';
      try {
        const made = await claim;
        result = typeof made === 'string' ? 'lost' : 'won';
        if (typeof made !== 'string') claimed = made;
        return made;
      } finally {
        claimSpan.end({ result });
        telemetry.claimed(job.name, 'claim', result);
      }
    },
    end(result) {
      const name = resultOf(result);
      const isError = name === 'error' || FAILED.has(name);
      const row = claimed?.held.row;
      span.end({ result: name, isError, ...(row && { attempt: row.attempt, token: row.token }) });
    },
  };
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'timedOut', 'stalled', 'retrying']);

function resultOf(result: AttemptResult | 'error'): string {
  if (result === 'error') return result;
  switch (result.kind) {
    case 'ended': {
      const { outcome } = result.record;
      return hasRun(outcome) ? outcome : 'notRun';
    }
    case 'again':
      return 'retrying';
    case 'fanOut':
    case 'orchestrate':
      return 'planned';
    case 'lost':
    case 'item':
    case 'proven':
      return result.kind;
  }
}

const NO_TRACE: AttemptTrace = {
  span: UNTRACED,
  claiming: (claim) => claim,
  end: () => undefined,
};
