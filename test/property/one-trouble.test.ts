import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTICE_TOPICS, type NotifySettings } from '../../src/core/job';
import { NonRetryableError } from '../../src/handler/handler';
import type { LeaseStore } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { fakeReceiver } from '../support/receivers';
import { type Instance, rivalTicks } from '../support/rival-ticks';
import { runs } from '../support/runs';
import { T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DUE_MS = 10 * MINUTE;
const NOTIFY: NotifySettings = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };

/** The call about notices, counted from the due time, with which the deployment that makes it dies. */
interface Death {
  readonly call: number;
  /** Whether it has taken effect. */
  readonly isDone: boolean;
}

interface Plan {
  /** How long the run lasts that fails, and how long after its due time the job is overdue. */
  readonly lastsMs: number;
  readonly overdueMs: number;
  /** How long the calls to storage last, in turn. */
  readonly latenciesMs: readonly number[];
  readonly death: Death | undefined;
}

const deaths = fc.record({ call: fc.integer({ min: 1, max: 12 }), isDone: fc.boolean() });

function plans(death: fc.Arbitrary<Death | undefined>): fc.Arbitrary<Plan> {
  return fc.record({
    lastsMs: fc.integer({ min: 0, max: 20 * SECOND }),
    overdueMs: fc.integer({ min: 0, max: 20 * SECOND }),
    latenciesMs: fc.array(fc.integer({ min: 1, max: 1_500 }), { minLength: 5, maxLength: 40 }),
    death,
  });
}

/** What is told of a job whose run fails just as sweeps see that it is overdue, and whose next run succeeds. */
async function told({ lastsMs, overdueMs, latenciesMs, death }: Plan): Promise<readonly string[]> {
  const ops = fakeReceiver();
  let calls = 0;
  const sim = rivalTicks({
    jobs: [jobSpec('a', '*/10 * * * *', { notify: NOTIFY, alertAfterMs: DUE_MS + overdueMs })],
    ...{ deployments: 3, sweepIntervalMs: 3 * SECOND, outlet: ops.outlet },
    latencyMs: () => latenciesMs[(calls += 1) % latenciesMs.length] ?? 1,
    async handler({ scheduledFor }, on) {
      if (scheduledFor.getTime() > T0 + DUE_MS) return;
      await new Promise<void>((resolve) => void on.coordinator.clock.after(lastsMs, resolve));
      throw new NonRetryableError('no');
    },
  });
  let noticed = 0;
  const isDeath = (): boolean => sim.clock.now() > T0 + DUE_MS && (noticed += 1) === death?.call;
  if (death !== undefined) for (const instance of sim.instances) dieWhere(instance, isDeath, death.isDone);
  await sim.clock.advance(26 * MINUTE);
  return ops.received.map(({ type }) => type.replace('cronlease.job.', ''));
}

function dieWhere(instance: Instance, isDeath: () => boolean, isDone: boolean): void {
  const place: { store: LeaseStore } = instance.coordinator;
  place.store = new Proxy(place.store, {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function' || !property.includes('Notice')) return member;
      return async (...given: unknown[]) => {
        const dies = isDeath();
        if (dies && !isDone) instance.kill();
        const answer: unknown = await Reflect.apply(member, target, given);
        if (dies) instance.kill();
        return answer;
      };
    },
  });
}

describe('a job that fails in the moment in which it is overdue', () => {
  it('is told once: one trouble, one end', async () => {
    await fc.assert(
      fc.asyncProperty(plans(fc.constant(undefined)), async (plan) => {
        const changes = await told(plan);
        expect([
          ['failed', 'recovered'],
          ['overdue', 'recovered'],
        ]).toContainEqual(changes);
      }),
      { numRuns: runs(120) },
    );
  });

  it('is told wherever a process dies that tells it', async () => {
    await fc.assert(
      fc.asyncProperty(plans(deaths), async (plan) => {
        const changes = await told(plan);
        expect(changes[0]).toMatch(/^(failed|overdue)$/);
        expect(changes).toContain('recovered');
      }),
      { numRuns: runs(120) },
    );
  });
});
