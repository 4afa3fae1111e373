import type { EpochMs } from '../../core/brand';
import type { Claim } from '../../core/decide/situation';
import type { Coordinator, RunnableJob } from '../coordinator';
import { type Invocation, NO_TELEMETRY, type SentAt } from '../telemetry';

/** The trace of one race, which begins when this is called. */
export interface RaceTrace {
  lost(): void;
  /**
   * @param key the run's, which a term gets from the acquisition
   * @returns the trace of the hand-over that follows
   */
  won(key: string): HandOverTrace;
}

export interface HandOverTrace {
  /** For the message: where the hand-over comes from. Undefined: nothing is traced. */
  sent(): SentAt | undefined;
  /** The orchestration was started, or could not be. */
  end(isError: boolean): void;
}

export function traceRace(
  { telemetry = NO_TELEMETRY, serviceTime }: Coordinator,
  { spec: job }: RunnableJob,
  claim: Claim,
  invocation: Invocation | undefined,
): RaceTrace {
  const at: EpochMs = serviceTime.now();
  const start = { at, invocation };
  return {
    lost() {
      telemetry.claimed(job.name, 'race', 'lost');
      const key = keyOf(claim);
      if (key === undefined) return;
      const tick = telemetry.begin('tick', { job, key }, start);
      tick.begin('race', { at }).end({ result: 'lost' });
      tick.end({ result: 'lost' });
    },
    won(key) {
      telemetry.claimed(job.name, 'race', 'won');
      const tick = telemetry.begin('tick', { job, key }, start);
      tick.begin('race', { at }).end({ result: 'won' });
      return {
        sent() {
          const { traceparent: parent } = tick;
          return parent === undefined ? undefined : { parent, at: serviceTime.now() };
        },
        end: (isError) => tick.end({ result: isError ? 'failed' : 'handedOver', isError }),
      };
    },
  };
}

/** The key of the run that the claim is for. The one of a term is not known before its acquisition. */
function keyOf(claim: Claim): string | undefined {
  if (claim.what !== 'first') return claim.row.run?.key;
  return claim.run.kind === 'known' ? claim.run.key : undefined;
}
