import { type JobFacts, type Spoiled, short } from '../world/facts';
import { isOnly } from '../faults/plan';
import { firstSpec } from '../faults/plan-job';
import { START, type World } from '../world/world';

/** A sweep and a tick, with their calls. */
const SEEN_WITHIN_MS = 90_000;
/** By then all rows exist, and all hubs are proven. */
const WARM_UP_MS = 60_000;
/** The longest time from a due time to its start, on time or by the tick after a lost look. */
const STARTS_WITHIN_MS = 20_000;

/** A job whose row or control is not cronlease's is reported as left alone. Only for times when storage is well. */
export function checkSaidForeign({ plan, observer }: World, facts: JobFacts, { what, since, until }: Spoiled): void {
  if (!isOnly(plan, 'foreign') || until === undefined || until - since < SEEN_WITHIN_MS) return;
  if (facts.saidUnhealthyAt >= since) return;
  observer.report(
    'notSaidForeign',
    facts.name,
    `its ${what} was spoiled at ${short(since)}, and no event has reported it`,
  );
}

/** While the blobs of one job are spoiled, all others run, and it runs again once they are repaired. */
export function checkOthersRan({ plan, observer, timeline }: World): void {
  const end = START + timeline.now();
  for (const job of plan.jobs) {
    const { timetable, offsetMs, name } = firstSpec(job);
    const facts = observer.jobs.get(name);
    if (facts === undefined) continue;
    const starts = [...facts.started.values()].map(({ at }) => at);
    let due = timetable.next(START + WARM_UP_MS);
    for (; due !== undefined && due + offsetMs < end - STARTS_WITHIN_MS; due = timetable.next(due)) {
      const actual = due + offsetMs;
      if (wasLeftAlone(facts, actual) || starts.some((at) => at >= actual && at <= actual + STARTS_WITHIN_MS)) continue;
      observer.report('stoodStill', name, `nothing of it started after ${short(actual)} although its blobs are well`);
      return;
    }
  }
}

function wasLeftAlone({ spoiled }: JobFacts, actual: number): boolean {
  return spoiled.some(
    ({ since, until = Infinity }) => actual >= since - STARTS_WITHIN_MS && actual <= until + SEEN_WITHIN_MS,
  );
}
