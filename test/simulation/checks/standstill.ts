import type { JobSpec } from '../../../src/core/job';
import type { ClaimFact, JobFacts } from '../world/facts';

/*
 * When no instance can have been at work on a run, from the claims that were seen: nothing overlaps with it then.
 * Written apart from the product's own rules.
 */

/** A waiting run is resumed by a tick after this time, if nothing else has. */
const RESUMED_AFTER_MS = 10_000;
/** The host's limit, up to which an attempt may wait for its turn. */
const HOST_MS = 150_000;
/** Dates are cut to whole seconds, and may be behind. */
const SLACK_MS = 4_000;
/** A row remembers the last ones only. */
const REMEMBERED = 3;

/** A span of time in which a run surely stood still, or perhaps. Either may be empty. */
export interface Standstill {
  readonly surely: readonly [number, number];
  readonly perhaps: readonly [number, number];
}

const NEVER = [Infinity, Infinity] as const;

/** The standstills of the run whose last claim has this token. */
export function standstillsOf(facts: JobFacts, spec: JobSpec, token: number): readonly Standstill[] {
  const found: Standstill[] = [];
  let next = facts.claimOf.get(token);
  const key = next?.row.run?.key;
  while (next !== undefined && next.row.attempt > 1) {
    const prior = facts.claimOf.get(next.before.token);
    if (prior === undefined || prior.row.run?.key !== key) {
      // A failover of storage has taken back what was seen.
      found.push({ surely: NEVER, perhaps: [-Infinity, next.at + SLACK_MS] });
      break;
    }
    const between = standstillBetween(facts, spec, prior, next);
    if (between !== undefined) found.push(between);
    next = prior;
  }
  return found.map((one, index) => (index < REMEMBERED ? one : { ...one, surely: NEVER }));
}

function standstillBetween(facts: JobFacts, spec: JobSpec, prior: ClaimFact, next: ClaimFact): Standstill | undefined {
  const { phase, notBefore = 0, past } = next.before;
  const until = next.at + SLACK_MS;
  const { claimedAt = 0, started = 0 } = prior.row;
  const timeoutMs = (spec.timeoutMs ?? Infinity) + spec.graceMs;
  // The timeout of an orchestration does not count for the attempts that start it and read its end.
  const handlerMs = facts.isOrchestration ? Math.min(timeoutMs, HOST_MS) : timeoutMs;
  const leaseMs = Math.max(spec.leaseMs, prior.row.leaseMs ?? 0);
  const earliest = Math.min(prior.at, claimedAt);
  const latest = Math.max(prior.at, claimedAt, started) + Math.max(handlerMs, HOST_MS);
  const acquisition = facts.acquisitions.get(next.leaseId);
  if (phase === 'fanning' || facts.failedOver !== undefined || acquisition === undefined) {
    return { surely: NEVER, perhaps: [earliest, until] };
  }
  const seenUntil = acquisition.viewAt + Math.min(0, acquisition.errors[0]) - SLACK_MS;
  if (phase === 'running') {
    return { surely: [latest + leaseMs + SLACK_MS, seenUntil], perhaps: [earliest + handlerMs, until] };
  }
  if (phase !== 'retrying') return undefined;
  const ended = past.at(-1)?.end ?? 0;
  const turn = notBefore === 0 ? Math.max(latest, ended) : notBefore;
  const soonest = notBefore === 0 ? earliest : Math.min(notBefore, prior.at);
  return { surely: [turn + RESUMED_AFTER_MS + leaseMs + SLACK_MS, seenUntil], perhaps: [soonest, until] };
}
