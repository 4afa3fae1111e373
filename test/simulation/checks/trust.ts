import { type Execution, type ItemExecution, type JobFacts, type Report, marginOf } from '../world/facts';

/** Clocks may run slower than the service's by this share, which the margin must cover: here, half a percent. */
const DRIFT = 0.01;

/** The end of a holder's longest possible trust, with its clocks and the service's. */
export function trustLimit(facts: JobFacts, { leaseId }: Execution): number {
  const acquisition = leaseId === undefined ? undefined : facts.acquisitions.get(leaseId);
  if (acquisition === undefined) return -Infinity;
  const { provenAt, leaseMs } = acquisition;
  return provenAt + leaseMs * (1 + DRIFT) - marginOf(leaseMs);
}

/** At most one execution trusts its lease, and none for longer than the service's own clock allows. */
export function checkTrust(facts: JobFacts, now: number, report: Report): void {
  if (facts.executions.size === 0) return;
  let trusting: Execution[] | undefined;
  for (const execution of facts.executions) {
    const { context, process, running } = execution;
    if (!running || process.dead || process.paused) continue;
    const late = now - trustLimit(facts, execution);
    if ((late > 0 || facts.executions.size > 1) && trusts(execution)) {
      trusting = [...(trusting ?? []), execution];
      if (late > 0) {
        const what = `token ${String(context.fence.token)} on ${process.id} trusts its lease ${late.toFixed(0)} ms too long`;
        report('trustTooLong', facts.name, what);
      }
    }
  }
  if (trusting === undefined || trusting.length < 2) return;
  const tokens = trusting.map(({ context, process }) => `${String(context.fence.token)} on ${process.id}`);
  report('trustedTwice', facts.name, `two executions trust their lease: ${tokens.join(', ')}`);
}

export function trusts({ context }: Pick<Execution, 'context'> | ItemExecution): boolean {
  try {
    context.fence.check();
    return true;
  } catch {
    return false;
  }
}
