import type { Millis } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { AttemptRecord } from '../../src/core/record';
import type { JobContext } from '../../src/handler/handler';
import type { AnyHandler } from '../../src/handler/handlers';
import { activityFence } from '../../src/coordinator/activity-fence';
import type { PretendOrchestration } from './app-hub';
import { CALL, pretendTarget } from './called';
import type { Instance } from './rival-ticks';

/** One piece of work that a run has begun, as the one who does it sees it. */
export interface Work {
  readonly job: string;
  /** ISO. */
  readonly scheduledFor: string;
  readonly attempt: number;
  readonly token: number;
  readonly at: number;
  readonly from: Instance;
  readonly input: unknown;
  /** It was told to end. */
  isEnded: boolean;
  /** Its fenced steps that were refused. */
  refusals?: number;
  /** Whether its fence trusts. */
  readonly trusts?: () => boolean;
  /** How many other pieces of work trusted when this one began. */
  readonly besides?: number;
}

/** The work of one job, and how each piece of it ends. */
export interface Job {
  readonly name: string;
  /** How long each piece of work takes. */
  readonly lastsMs: Millis;
  /** Which pieces of work fail, counted from 1. Default: none. */
  readonly fails?: readonly number[];
}

/** Work under the lease of its attempt. */
const HELD = { silentMs: 15_000, attempts: ['succeeded'] } as const;

/** A kind of job, as the cases of all kinds need it. */
export interface JobKind {
  readonly name: string;
  /** Work that has begun goes on without its holder: a later attempt waits for it, and begins nothing. */
  readonly outlivesHolder: boolean;
  /** After this long without a sign of its holder, others take its work over. */
  readonly silentMs: Millis;
  /** The outcomes of the attempts that begin a piece of work and end it. */
  readonly attempts: readonly AttemptRecord['outcome'][];
  /** Makes what a job runs. Its work is added to `works`. */
  readonly handler: (job: Job, works: Work[]) => (on: Instance) => AnyHandler;
}

const handlerKind: JobKind = {
  name: 'a handler',
  ...HELD,
  outlivesHolder: false,
  handler: (job, works) => (on) => ({
    run: async (context: JobContext, input: unknown) => {
      const { signal, attempt, fence, scheduledFor } = context;
      const { clock } = on.coordinator;
      const work: Work = {
        ...{ job: job.name, scheduledFor: scheduledFor.toISOString(), attempt, token: fence.token, at: clock.now() },
        ...{ from: on, input, isEnded: false },
      };
      const count = works.push(work);
      await sleep(clock, job.lastsMs, signal);
      work.isEnded = signal.aborted;
      if (signal.aborted) throw signal.reason;
      if (job.fails?.includes(count) === true) throw new Error('planned');
      return { rows: 3 };
    },
  }),
};

/** A call whose target answers at the end of the work. */
const callKind: JobKind = { ...HELD, name: 'a call', outlivesHolder: false, handler: calledBy(false) };

/** A call that starts an operation, which is polled. */
const polledKind: JobKind = { ...HELD, name: 'a call that is polled', outlivesHolder: true, handler: calledBy(true) };

/** Its steps are activities, one after another, which check their fence. One that is refused is tried again. */
export const ORCHESTRATION: JobKind = {
  name: 'an orchestration',
  ...{ outlivesHolder: false, silentMs: 60_000, attempts: ['planned', 'succeeded'] },
  handler: (job, works) => (): PretendOrchestration => ({
    orchestrator: job.name,
    takeOverAfterMs: 60_000,
    async orchestrate({ input, cronlease }, { activity, timer, ended }) {
      const { scheduledFor, attempt, token } = cronlease;
      const work = await activity(async (from) => ({
        ...{ job: job.name, scheduledFor, attempt, token, at: from.coordinator.clock.now(), from, input },
        ...{ isEnded: false, refusals: 0, trusts: () => activityFence(from.coordinator, cronlease).trusts },
        besides: works.filter((other) => other.trusts?.()).length,
      }));
      const count = works.push(work);
      ended.addEventListener('abort', () => {
        work.isEnded = true;
      });
      for (let step = 0; step < STEPS && !ended.aborted; step += 1) {
        const isDone = await activity(async ({ coordinator }) => {
          try {
            await activityFence(coordinator, cronlease).check();
          } catch {
            return false;
          }
          await sleep(coordinator.clock, job.lastsMs / STEPS);
          return true;
        });
        if (isDone) continue;
        work.refusals += 1;
        step -= 1;
        await timer(5_000);
      }
      if (job.fails?.includes(count) === true) throw new Error('planned');
      return { rows: 3 };
    },
  }),
};

export const JOB_KINDS: readonly JobKind[] = [handlerKind, callKind, polledKind, ORCHESTRATION];

const STEPS = 4;

function calledBy(isPolled: boolean): JobKind['handler'] {
  return (job, works) => {
    const failed = (count: number): boolean => job.fails?.includes(count) === true;
    const { handler } = pretendTarget(
      (sent, all) => {
        const { method, headers, body, at, from } = sent;
        const [, path = ''] = /^\/state\/(\d+)$/.exec(sent.address.pathname) ?? [];
        const known = works[Number(path) - 1];
        if (method === 'DELETE' && known !== undefined) known.isEnded = true;
        if (method === 'GET' && known !== undefined) {
          const isOver = at >= known.at + job.lastsMs;
          const status = isOver ? (failed(Number(path)) ? 'Failed' : 'Succeeded') : 'Running';
          return { status: 200, headers: { 'retry-after': '1' }, body: { status, rows: 3 } };
        }
        if (method !== 'POST') return { status: 204 };
        const calls = all.filter((one) => one.method === 'POST');
        const count = works.push({
          ...{ job: job.name, scheduledFor: headers['x-cronlease-scheduled-for'] ?? '', at, from },
          ...{ attempt: Number(headers['x-cronlease-attempt']), token: Number(headers['x-cronlease-token']) },
          input: JSON.parse(body ?? 'null'),
          get isEnded() {
            return calls.at(-1)?.isAborted === true || isEnded.get(this) === true;
          },
          set isEnded(ended: boolean) {
            isEnded.set(this, ended);
          },
        });
        if (isPolled) {
          return { status: 202, headers: { 'operation-location': `/state/${String(count)}`, 'retry-after': '1' } };
        }
        return { status: failed(count) ? 500 : 200, afterMs: job.lastsMs, body: { rows: 3 } };
      },
      { ...CALL, body: { rows: '{input.rows}' } },
    );
    return handler;
  };
}

const isEnded = new WeakMap<Work, boolean>();
