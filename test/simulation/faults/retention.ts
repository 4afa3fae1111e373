import { decodeDelivery, encodeDelivery } from '../../../src/core/delivery';
import { recordKey } from '../../../src/core/key';
import type { Disturbance } from './disturbance';
import { short } from '../world/facts';
import type { Plan } from './plan';
import { type PlannedJob, firstSpec, rescheduled } from './plan-job';
import type { Random } from './random';
import { START, type World, kill } from '../world/world';

/*
 * Histories of months: most of the time no instance runs. Meanwhile the lifecycle rule deletes records, but no rows.
 * Time leaps, mostly to right before the next due time of a job.
 */

const DAY = 86_400_000;
const LEAPS_AT_MOST = 6;
/** A leap to a due time ends this long before it. */
const BEFORE_DUE_MS = 25_000;

const SCHEDULES = [...(['0 0 1 */3 *', '0 0 1 */3 *', '0 0 1 * *', '0 6 * * 1', '@manual', '@at'] as const)] as const;
const KEEPS = [7 * DAY, 30 * DAY, 90 * DAY] as const;

export function retentionPlan(plan: Plan, random: Random): Plan {
  const troubledMs = random.pick([300_000, 450_000]);
  const rates = plan.faults.kind === 'drawn' ? plan.faults.rates : undefined;
  const requests = Array.from({ length: random.whole(0, 4) }, (): Disturbance => {
    return { at: random.whole(0, troubledMs), kind: 'request', job: random.whole(0, plan.jobs.length - 1) };
  });
  const leaps = Array.from({ length: random.whole(2, LEAPS_AT_MOST) }, (): Disturbance => {
    const job = random.chance(0.7) ? random.whole(0, plan.jobs.length - 1) : undefined;
    const days = random.pick([1, 8, 31, 95, 190] as const);
    return { at: random.whole(30_000, troubledMs), kind: 'leap', days, job, restarts: random.pick([0, 0.5, 1, 1]) };
  });
  // A run that its row has counted as a success, and that no record shows, is taken for a failure months later.
  const lostRecord = plan.mixes.includes('notices') ? random.pick([0, 0.1, 0.3]) : 0;
  const few = plan.disturbances.filter(({ kind }) => kind !== 'setClock' && random.chance(0.3));
  return {
    ...plan,
    troubledMs,
    jobs: plan.jobs.map((job) => withLongGaps(job, random)),
    // A clock that drifts for months would be hours off.
    instances: plan.instances.map((instance) => ({ ...instance, clock: { ...instance.clock, drift: 0 } })),
    faults:
      rates === undefined
        ? plan.faults
        : {
            kind: 'drawn',
            rates: { ...rates, lastRelease: random.pick([0.1, 0.4, 0.8]), lostRecord },
          },
    disturbances: [...few, ...requests, ...leaps].sort((a, b) => a.at - b.at),
  };
}

function withLongGaps(job: PlannedJob, random: Random): PlannedJob {
  const picked = random.pick(SCHEDULES);
  const drawn = picked === '@manual' && firstSpec(job).requires.length > 0 ? '0 0 1 * *' : picked;
  const schedule = drawn === '@at' ? `@at ${new Date(START + random.whole(20, 200) * 1_000).toISOString()}` : drawn;
  const keepMs = random.pick(KEEPS);
  const later = random.pick(KEEPS);
  return rescheduled(job, (_, revision) => ({ schedule, settings: { keepMs: revision === 0 ? keepMs : later } }));
}

/** Nothing happens for days: instances are killed or stand still. */
export function leap(world: World, what: Extract<Disturbance, { readonly kind: 'leap' }>): void {
  const { timeline, plan } = world;
  // No one leaves a move, or a recovery, unfinished for months.
  if (world.migration === 'moving' || world.failingOver) return;
  const now = START + timeline.now();
  const planned = plan.jobs.find(({ index }) => index === what.job);
  const due = planned && firstSpec(planned).timetable.next(now + BEFORE_DUE_MS);
  const ms = due === undefined ? what.days * DAY : due - BEFORE_DUE_MS - now;
  for (const [position, place] of plan.instances.entries()) {
    if (position < what.restarts * plan.instances.length) kill(world, place, 1_000);
  }
  void deliverNotices(world, now);
  timeline.leap(ms);
  world.trace?.add('', `${(ms / DAY).toFixed(1)} days pass: it is ${short(now + ms)}`);
  deleteOldRecords(world);
}

/** Whoever was to be told is told before. A day later a sweep deletes what was delivered. */
async function deliverNotices({ observer, serviceAt }: World, now: number): Promise<void> {
  const homes = new Set([...observer.jobs.values()].map(({ home }) => home));
  for (const home of homes) {
    const store = serviceAt(home).open();
    const { notices } = await store.listNotices({ limit: 5_000 });
    for (const { id, etag, metadata } of notices) {
      const delivery = decodeDelivery(metadata);
      const to = delivery.to.map((one) => ({ ...one, end: 'sent' as const }));
      await store.writeNotice(id, encodeDelivery({ ...delivery, to, doneAt: delivery.doneAt ?? now }), etag);
    }
  }
}

/** The lifecycle rule uses the largest `keep` of all jobs, in every file that is in use. */
function deleteOldRecords({ plan, deployments, observer, serviceAt, timeline, trace }: World): void {
  const inUse = deployments.flatMap(({ revision }) => plan.jobs.map(({ specs }) => specs[revision]?.keepMs ?? 0));
  const keepMs = Math.max(...inUse);
  const before = START + timeline.now() - keepMs;
  for (const facts of observer.jobs.values()) {
    for (const [key, fact] of facts.records) {
      if (fact.isDeleted === true || fact.writtenAt >= before) continue;
      serviceAt(facts.home).deleteRecord(facts.name, key);
      facts.records.set(key, { ...fact, isDeleted: true, deletedAt: START + timeline.now() });
      trace?.add('store', `${facts.name} record ${recordKey(fact.span[0])} is deleted by the lifecycle rule`);
    }
  }
}
