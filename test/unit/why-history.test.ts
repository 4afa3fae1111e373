import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { RAN_OUTCOMES, UNRUN_OUTCOMES } from '../../src/core/outcome';
import type { JobSpec } from '../../src/core/job';
import type { LedgerRecord } from '../../src/core/record';
import { attemptTimes } from '../../src/cli/show/why';
import { describe as describeAnswer } from '../../src/operator/views/describe';
import { type Explanation, explainTime } from '../../src/operator/views/explain';
import type { ShownAttempt } from '../../src/operator/views/runs';
import { requestRun } from '../../src/operator/operations/run';
import { OperatorError } from '../../src/operator/operator-error';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { runs } from '../support/runs';
import { pauseJob, resumeJob } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const OUTCOMES: readonly string[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES];

/** What happens to the job for so many minutes. */
type Happening =
  | { readonly kind: 'calm' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'paused' }
  | { readonly kind: 'holderDies' }
  | { readonly kind: 'requested' };

interface Story {
  readonly overlap: JobSpec['overlap'];
  readonly catchUp: JobSpec['catchUp'];
  readonly catchUpWindowMs: number;
  readonly offsetMs: number;
  /** How long each handler call takes, in turn; negative: it throws after that long. */
  readonly takes: readonly number[];
  readonly happenings: readonly { readonly what: Happening['kind']; readonly minutes: number }[];
}

const story: fc.Arbitrary<Story> = fc.record({
  overlap: fc.constantFrom('skip', 'queue', 'cancel'),
  catchUp: fc.constantFrom('latest', 'all', 'none'),
  catchUpWindowMs: fc.constantFrom(4 * MINUTE, 60 * MINUTE),
  offsetMs: fc.constantFrom(0, 20_000),
  takes: fc.array(fc.constantFrom(0, 0, 5_000, 70_000, 200_000, -1_000, -40_000), { minLength: 1, maxLength: 6 }),
  happenings: fc.array(
    fc.record({
      what: fc.constantFrom('calm', 'calm', 'nobody', 'paused', 'holderDies', 'requested'),
      minutes: fc.integer({ min: 2, max: 7 }),
    }),
    { minLength: 2, maxLength: 5 },
  ),
});

/** An answer, and when it was asked for. */
interface Asked extends Explanation {
  readonly at: number;
}

async function play(told: Story): Promise<{ asked: readonly Asked[]; records: readonly LedgerRecord[]; end: number }> {
  const { takes, happenings, ...settings } = told;
  const retry = { ...jobSpec('a', '@hourly').retry, backoffMs: 35_000, attempts: 2 };
  const job = jobSpec('a', '* * * * *', { ...settings, retry });
  let dies = false;
  let calm = false;
  const sim: RivalTicks = rivalTicks({
    jobs: [job],
    handler: async ({ signal }, on) => {
      if (dies) {
        dies = false;
        on.kill();
      }
      if (calm) return;
      const takesMs = takes[sim.calls.length % takes.length] ?? 0;
      await sleep(sim.clock, Math.abs(takesMs), signal);
      if (takesMs < 0) throw new Error('no');
    },
  });
  const asked: Asked[] = [];
  const advance = async (minutes: number): Promise<void> => {
    for (let half = 0; half < minutes * 2; half += 1) {
      await sim.clock.advance(30_000 - 3_700);
      await ask(sim, job, asked);
      await sim.clock.advance(3_700);
    }
  };
  // The first tick has seen the job.
  await sim.clock.advance(15_000);
  let living = 0;
  for (const { what, minutes } of happenings) {
    await sim.clock.advance(living * 1_300);
    if (what === 'paused') await pauseJob(sim.store, { name: job.name, spec: job }, { by: 'x', note: 'n' });
    if (what === 'nobody') for (const instance of sim.instances) instance.kill();
    if (what === 'requested') await requestRun(sim, job, { id: `r${String(living)}` }).catch(expectRefusal);
    dies = what === 'holderDies';
    await advance(minutes);
    if (what === 'paused') await resumeJob(sim.store, { name: job.name, spec: job });
    living += 1;
    if (what === 'nobody' || what === 'holderDies') sim.startInstance(`d${String(living + 1)}`);
  }
  const end = sim.clock.now();
  calm = true;
  await advance(12);
  return { asked, records: await sim.records('a'), end };
}

function expectRefusal(error: unknown): void {
  expect(error).toBeInstanceOf(OperatorError);
}

/** Asks about each due time of the last ten minutes, and of the next two. */
async function ask(sim: RivalTicks, job: JobSpec, asked: Asked[]): Promise<void> {
  const now = sim.clock.now();
  const first = Math.max(T0, Math.floor(now / MINUTE - 10) * MINUTE);
  for (let time = first; time <= now + 2 * MINUTE; time += MINUTE) {
    asked.push({ ...(await explainTime(sim.store, job, 0, time)), at: now });
  }
}

/** The slow way: the one record that speaks of a due time. */
function recordOf(records: readonly LedgerRecord[], time: number): LedgerRecord | undefined {
  const found = records.filter(
    ({ scheduledFor, through, trigger, runId }) =>
      trigger !== 'manual' &&
      !runId.includes('-m-') &&
      Date.parse(scheduledFor) <= time &&
      time <= Date.parse(through ?? scheduledFor),
  );
  expect(found.length).toBeLessThanOrEqual(1);
  return found[0];
}

describe('why, asked at any time of a history', () => {
  it('agrees with what the ledger says in the end', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const { asked, records, end } = await play(told);
        const wasAlone = told.happenings.some(({ what }) => what === 'nobody' || what === 'holderDies');
        for (const answer of asked) {
          const final = recordOf(records, answer.time);
          const context = JSON.stringify({ ...answer, job: 'a', state: answer.state.row, final });
          if (answer.time <= T0) {
            expect(answer, context).toMatchObject({ due: true, outcome: 'notDue', reason: 'beforeFirstSeen' });
            continue;
          }
          expect(answer.due, context).toBe(true);
          expect(describeAnswer(answer, (instant) => new Date(instant).toISOString())).toMatch(/^[A-Z].*[.]$/);
          expect(answer.outcome, context).not.toBe('notDue');
          if (answer.time + answer.job.offsetMs > answer.at) {
            expect(['future', 'running'], context).toContain(answer.outcome);
          } else {
            expect(answer.outcome, context).not.toBe('future');
          }
          if (answer.time > end) continue;
          expect(final?.state, context).toBe('final');
          if (answer.record !== null && answer.record.state === 'final') {
            expect(answer.record.runId, context).toBe(final?.runId);
          }
          if (OUTCOMES.includes(answer.outcome)) {
            const same = answer.outcome === final?.outcome && answer.reason === final.reason;
            // What is not decided while no one is there grows too old meanwhile.
            const grewOld = answer.record === null && final?.reason === 'catchUpWindow' && wasAlone;
            expect(same || grewOld, context).toBe(true);
          }
          if (answer.outcome === 'running' || answer.outcome === 'retrying') {
            expect(RAN_OUTCOMES, context).toContain(final?.outcome);
          }
        }
      }),
      { numRuns: runs(25) },
    );
  });
});

it('claims of no lost attempt that its holder died: one that could not settle in time leaves the same record', () => {
  const lost = { startedAt: null, claimedAt: 'c', endedAt: null, error: null, outcome: 'holderLost' } as ShownAttempt;
  expect(attemptTimes(lost, (iso) => iso)).toBe('claimed c, its holder died or lost its lease');
});
