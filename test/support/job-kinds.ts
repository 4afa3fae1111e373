import type { Millis } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobContext } from '../../src/handler/handler';
import type { AnyHandler } from '../../src/handler/handlers';
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
}

/** The work of one job, and how each piece of it ends. */
export interface Job {
  readonly name: string;
  /** How long each piece of work takes. */
  readonly lastsMs: Millis;
  /** Which pieces of work fail, counted from 1. Default: none. */
  readonly fails?: readonly number[];
}

/** A kind of job, as the cases of all kinds need it. */
export interface JobKind {
  readonly name: string;
  /** Work that has begun goes on without its holder: a later attempt waits for it, and begins nothing. */
  readonly outlivesHolder: boolean;
  /** Makes what a job runs. Its work is added to `works`. */
  readonly handler: (job: Job, works: Work[]) => (on: Instance) => AnyHandler;
}

const handlerKind: JobKind = {
  name: 'a handler',
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
const callKind: JobKind = { name: 'a call', outlivesHolder: false, handler: calledBy(false) };

/** A call that starts an operation, which is polled. */
const polledKind: JobKind = { name: 'a call that is polled', outlivesHolder: true, handler: calledBy(true) };

export const JOB_KINDS: readonly JobKind[] = [handlerKind, callKind, polledKind];

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
