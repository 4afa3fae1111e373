import { runCall } from '../../../src/call/call';
import { AttemptAbortedError, type JobContext } from '../../../src/handler/handler';
import type { CallHandler, Kept } from '../../../src/handler/handlers';
import type { Answer, Asked } from '../../../src/notices/request';
import { type PlannedCall, SIMULATED_CALL } from '../faults/plan-job';
import { seededBy } from '../faults/random';
import type { SimulatedProcess } from './process';
import type { World } from './world';

/** A request that is lost is noticed after this time. */
const LOST_MS = 5_000;

/** Work that a call has started at the target. */
interface Started {
  readonly run: string;
  readonly token: number;
  readonly endsAt: number;
  readonly fails: boolean;
  /** The token of the attempt that ended it. */
  endedBy: number | undefined;
  /** The token of the attempt that has learnt that it failed. */
  failureSeenBy: number | undefined;
  /** It has answered that it succeeded. */
  hasSucceeded: boolean;
}

/** What an attempt has kept, as storage has confirmed it. */
interface Confirmed {
  readonly token: number;
  readonly text: string;
}

/** The target of all calls, outside of every process, and what the attempts have kept of it by run. */
export interface CallTarget {
  readonly started: Map<string, Started>;
  readonly called: Set<string>;
  readonly kept: Map<string, Confirmed[]>;
  /** By run, the newest token whose attempt has written what storage may or may not have. */
  readonly unsure: Map<string, number>;
}

export function createCallTarget(): CallTarget {
  return { started: new Map(), called: new Set(), kept: new Map(), unsure: new Map() };
}

/** One attempt at a call, as the checks see it. */
interface Attempt {
  readonly world: World;
  readonly planned: PlannedCall;
  readonly context: JobContext;
  readonly process: SimulatedProcess;
  /** What the attempt must see of earlier ones; undefined: that is not known. */
  readonly mustFollow: string | undefined;
  /** The work that it has started itself. */
  own: string | undefined;
}

/** A job that is a call: the product's own code of calls, against a target that the checks look into. */
export function simulatedCall(
  world: World,
  planned: PlannedCall,
  process: SimulatedProcess,
  run: (context: JobContext, work: () => Promise<unknown>) => Promise<unknown>,
): CallHandler {
  return {
    call: (context, input, kept) => {
      const work = async (): Promise<unknown> => {
        const attempt: Attempt = {
          world,
          planned,
          context,
          process,
          mustFollow: keptBefore(world, context),
          own: undefined,
        };
        const means = {
          clock: process.clock,
          guard: {
            setting: 'CRONLEASE_CALL_HOSTS',
            hosts: [{ pattern: 'target.example', networks: [] }],
            isLocal: false,
          },
          readSetting: () => undefined,
          send: (asked: Asked, { signal }: { readonly signal: AbortSignal }) => sent(attempt, asked, signal),
          tokenFor: () => tokenFor(attempt),
        } as const;
        const watched = watchedKept(attempt, kept);
        const result = await runCall(
          { call: SIMULATED_CALL, timeZone: 'UTC' },
          { means, context, kept: watched, input },
        );
        checkResult(attempt, result);
        return result;
      };
      // Where its run is already cancelled, it only ends the operation.
      return context.signal.aborted ? work() : run(context, work);
    },
  };
}

/** A token of the identity, which may take a while: the process may be stopped meanwhile. */
function tokenFor({ world, context, process }: Attempt): Promise<string> {
  const random = seededBy(world.plan.seed, 'token', context.runId, context.attempt);
  const ms = world.troubled ? random.whole(1, random.pick([5, 50, 6_000])) : 5;
  return new Promise((resolve) => {
    world.timeline.after(ms, () => {
      process.enter(() => {
        resolve('token');
      });
    });
  });
}

/** The address that earlier attempts have kept for sure. Empty: none. */
function keptBefore({ callTarget, failovers }: World, { runId }: JobContext): string | undefined {
  // A failover may lose what was kept.
  if (failovers > 0) return undefined;
  const all = callTarget.kept.get(runId) ?? [];
  // What a former holder has written late does not count.
  const newest = Math.max(...all.map(({ token }) => token));
  if ((callTarget.unsure.get(runId) ?? -Infinity) >= newest) return undefined;
  return all.findLast(({ token }) => token === newest)?.text ?? '';
}

function watchedKept({ world: { callTarget }, context: { runId, fence } }: Attempt, kept: Kept): Kept {
  return {
    read: () => kept.read(),
    keep: async (text) => {
      callTarget.unsure.set(runId, Math.max(fence.token, callTarget.unsure.get(runId) ?? 0));
      await kept.keep(text);
      if (callTarget.unsure.get(runId) === fence.token) callTarget.unsure.delete(runId);
      const all = callTarget.kept.get(runId) ?? [];
      callTarget.kept.set(runId, [...all, { token: fence.token, text }]);
    },
  };
}

/** A request over a network that may lose it or its answer. */
async function sent(attempt: Attempt, asked: Asked, signal: AbortSignal): Promise<Answer> {
  const { world, planned, process } = attempt;
  const { timeline } = world;
  checkSent(attempt, asked);
  const random = seededBy(world.plan.seed, 'request', attempt.context.runId, attempt.context.attempt, timeline.now());
  const loses = world.troubled && random.chance(planned.lost);
  const there = random.whole(1, 40);
  const back = random.whole(1, 40);
  return new Promise((resolve, reject) => {
    const lose = (): void => {
      timeline.after(LOST_MS, () => {
        process.enter(() => reject(Object.assign(new Error('lost'), { code: 'ECONNRESET' })));
      });
    };
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    timeline.after(there, () => {
      if (loses && random.chance(0.5)) return lose();
      const answer = answered(attempt, asked);
      if (loses) return lose();
      timeline.after(back, () => {
        process.enter(() => {
          const known = world.callTarget.started.get(asked.address.pathname);
          if (known !== undefined && !signal.aborted && answer.text.includes('"Failed"')) {
            known.failureSeenBy ??= attempt.context.fence.token;
          }
          resolve(answer);
        });
      });
    });
  });
}

/** Checks a request at the instant at which it is sent. */
function checkSent({ world, context, mustFollow, own }: Attempt, { method, address }: Asked): void {
  const { observer } = world;
  const { job, runId, attempt, fence, signal } = context;
  const what = `attempt ${String(attempt)} of ${runId}`;
  if (method !== 'GET') {
    try {
      fence.check();
    } catch {
      observer.report('calledWithoutTrust', job, `${what} sent ${method} without trust in its lease`);
    }
  }
  const followed = mustFollow === undefined || mustFollow === '' ? mustFollow : operationIn(mustFollow);
  if (method === 'POST') {
    if (followed !== undefined && followed !== '') {
      observer.report('calledAgain', job, `${what} called again although ${followed} is kept`);
    }
    return;
  }
  const place = address.pathname;
  if (place !== own && followed !== undefined && place !== followed) {
    observer.report('followedWrongly', job, `${what} sent ${method} ${place}, and ${followed || 'nothing'} is kept`);
  }
  const reason: unknown = signal.reason;
  const code = reason instanceof AttemptAbortedError ? reason.code : 'none';
  if (method === 'DELETE' && !['cancelled', 'timedOut', 'stalled'].includes(code)) {
    observer.report('endedWithoutReason', job, `${what} ended its operation although its run is not over (${code})`);
  }
}

function operationIn(kept: string): string {
  return new URL((JSON.parse(kept) as { readonly address: string }).address).pathname;
}

/** The target's own answer. */
function answered(attempt: Attempt, { method, address }: Asked): Answer {
  const { world, planned, context } = attempt;
  const { callTarget, timeline, observer, trace } = world;
  const { job, runId, fence } = context;
  trace?.add('target', `${job} ${method} ${address.pathname} of ${runId} attempt ${String(context.attempt)}`);
  if (method === 'POST') {
    const one = `${runId} ${String(context.attempt)}`;
    if (callTarget.called.has(one) && world.failovers === 0)
      observer.report('calledTwice', job, `attempt ${one} called twice`);
    callTarget.called.add(one);
    const random = seededBy(world.plan.seed, 'target', job, runId, context.attempt);
    const fails = world.troubled && random.chance(planned.fails);
    if (random.chance(planned.direct)) return answer(fails ? 500 : 200, { token: fence.token });
    const id = `/work/${String(callTarget.started.size + 1)}`;
    const lasts = world.troubled ? random.whole(0, planned.lastsMs) : random.whole(0, 1_000);
    callTarget.started.set(id, {
      run: runId,
      token: fence.token,
      endsAt: timeline.now() + lasts,
      fails,
      endedBy: undefined,
      failureSeenBy: undefined,
      hasSucceeded: false,
    });
    attempt.own = id;
    return answer(202, {}, { 'operation-location': id, 'retry-after': '1' });
  }
  const known = callTarget.started.get(address.pathname);
  if (known === undefined) return answer(404, {});
  if (method === 'DELETE') {
    known.endedBy ??= fence.token;
    return answer(204, undefined);
  }
  const over = known.fails ? 'Failed' : 'Succeeded';
  // A former holder may still look, and one that could not store it leaves the operation to the next.
  const overFor = known.endedBy ?? known.failureSeenBy ?? Infinity;
  const isStored = (callTarget.unsure.get(runId) ?? -Infinity) < overFor;
  if (overFor < fence.token && isStored && world.failovers === 0) {
    observer.report('followedEnded', job, `${runId} polls ${address.pathname}, which is over for an earlier attempt`);
  }
  const status = known.endedBy !== undefined ? 'Canceled' : timeline.now() >= known.endsAt ? over : 'Running';
  known.hasSucceeded ||= status === 'Succeeded';
  return answer(200, { status, at: address.pathname }, { 'retry-after': '2' });
}

function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const text = body === undefined ? '' : JSON.stringify(body);
  return { status, headers: { 'content-type': 'application/json', ...headers }, text, isCut: false };
}

/** A run must not succeed by the work of another one. */
function checkResult({ world: { callTarget, observer }, context: { job, runId } }: Attempt, result: unknown): void {
  const { at } = result as { readonly at?: string };
  if (at === undefined) return;
  const known = callTarget.started.get(at);
  // A former holder that stood still may return its success after the next one has ended the operation.
  if (known?.run !== runId || !known.hasSucceeded) {
    observer.report('foreignResult', job, `${runId} succeeded by ${at}, which is not its own success`);
  }
}
