import { type OrchestrationContext, RetryOptions, type Task, app } from 'durable-functions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type OrchestrationRun, defineOrchestration, fenceOf } from '../../src/index';
import { runJob } from '../../src/testing/index';

interface Input {
  readonly input: { readonly month: string };
  readonly cronlease: OrchestrationRun;
}

const closeMonth = defineOrchestration({ orchestrator: 'closeMonth', input: z.object({ month: z.string() }) });
const settings = { input: { month: '2026-01' } };
const DAY_MS = 86_400_000;

function* closing({ df }: OrchestrationContext) {
  const { input, cronlease } = df.getInput<Input>();
  const accounts = (yield df.callActivity('list', input.month)) as string[];
  df.setCustomStatus({ note: 'closing', fraction: 0.5 });
  yield df.Task.all(accounts.map((account) => df.callActivity('close', { account, cronlease })));
  return { closed: accounts.length, id: df.instanceId };
}

const list = (month: string): string[] => [`${month}-a`, `${month}-b`];
const close = async ({ account, cronlease }: { account: string; cronlease: OrchestrationRun }): Promise<string> => {
  await fenceOf(cronlease).check();
  return account;
};

const slowly = (value: unknown) => () => new Promise((resolve) => setTimeout(resolve, 20, value));

/** Waits for the person, or for a day. */
function* asking({ df }: OrchestrationContext) {
  const answer = df.waitForExternalEvent('answer');
  const late = df.createTimer(new Date(df.currentUtcDateTime.getTime() + DAY_MS));
  const first: unknown = yield df.Task.any([answer, late]);
  if (first === late) return 'late';
  late.cancel();
  return answer.result;
}

describe('runJob with an orchestration', () => {
  it('plays its steps with the input, the fence and the run of the job', async () => {
    const run = await runJob(closeMonth, {
      ...{ settings, job: 'close-month', scheduledFor: '2026-02-01T03:00:00Z', attempt: 2, token: 7 },
      orchestrator: closing,
      activities: { list, close },
    });
    expect(run).toMatchObject({
      outcome: 'succeeded',
      result: { closed: 2, id: 'close-month-20260201T030000Z-t7' },
      progress: { note: 'closing', fraction: 0.5 },
      customStatus: { note: 'closing', fraction: 0.5 },
    });
    expect(run.activities?.map(({ name }) => name)).toEqual(['list', 'close', 'close']);
    const runId = 'close-month-20260201T030000Z';
    expect(run.activities?.[1]?.input).toMatchObject({
      account: '2026-01-a',
      cronlease: { attempt: 2, token: 7, runId },
    });
  });

  it('fails with the error of an activity, which the orchestrator sees as from Durable', async () => {
    const broken = () => {
      throw new Error('no such account');
    };
    const run = await runJob(closeMonth, { settings, orchestrator: closing, activities: { list, close: broken } });
    expect(run).toMatchObject({
      outcome: 'failed',
      error: { message: "Activity function 'close' failed: no such account", cause: { message: 'no such account' } },
    });
  });

  it('refuses the fence where another one leads', async () => {
    const run = await runJob(closeMonth, {
      ...{ settings, orchestrator: closing },
      activities: { list: slowly(['a']), close },
      during: ({ loseLease }) => loseLease(),
    });
    expect(run.outcome).toBe('lost');
  });

  it('lets timers pass at once, unless something is at work', async () => {
    const play = (more: object) =>
      runJob(closeMonth, { settings: { ...settings, timeout: '2d' }, orchestrator: asking, ...more });
    expect((await play({})).result).toBe('late');
    expect((await play({ events: { answer: { ok: true } } })).result).toEqual({ ok: true });
    function* slow({ df }: OrchestrationContext): Generator<Task, boolean, unknown> {
      const work = df.callActivity('work');
      const late = df.createTimer(new Date(df.currentUtcDateTime.getTime() + DAY_MS));
      return (yield df.Task.any([work, late])) === work;
    }
    expect((await play({ orchestrator: slow, activities: { work: slowly('done') } })).result).toBe(true);
  });

  it('tries again what has retry options', async () => {
    let calls = 0;
    const flaky = (): number => {
      calls += 1;
      if (calls < 3) throw new Error('not yet');
      return calls;
    };
    function* retrying({ df }: OrchestrationContext) {
      const options = { firstRetryIntervalInMilliseconds: 60_000, maxNumberOfAttempts: 3 };
      return (yield df.callActivityWithRetry('flaky', options as never)) as unknown;
    }
    const run = await runJob(closeMonth, { settings, orchestrator: retrying, activities: { flaky } });
    expect(run.result).toBe(3);
  });

  it('gives the orchestrator the log of its invocation, and ids', async () => {
    function* talking(context: OrchestrationContext) {
      if (!context.df.isReplaying) context.log('begins', 1);
      context.warn('slow');
      const ids = [context.df.newGuid(context.df.instanceId), context.df.newGuid(context.df.instanceId)];
      yield context.df.callActivity('work');
      return { ids, named: context.functionName };
    }
    const play = () => runJob(closeMonth, { settings, orchestrator: talking, activities: { work: () => undefined } });
    const run = await play();
    expect(run.error).toBeNull();
    expect(run.logs).toEqual([
      { level: 'info', message: ['begins', 1] },
      { level: 'warn', message: ['slow'] },
    ]);
    const { ids, ...rest } = run.result as { readonly ids: readonly string[] };
    expect(rest).toEqual({ named: 'closeMonth' });
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect((await play()).result).toEqual(run.result);
  });

  it('takes the tasks of activities and orchestrations that the app has registered', async () => {
    const greet = app.activity('greet', { handler: (name: unknown) => name });
    const nested = app.orchestration('nested', function* () {});
    function* registered({ df }: OrchestrationContext): Generator<Task, object, unknown> {
      const first: unknown = yield greet('a');
      const again: unknown = yield greet({ name: 'b' }).withRetry(new RetryOptions(60_000, 2));
      const all: unknown = yield df.Task.all([greet(1), nested('c'), df.callActivity('greet', 'd')]);
      const either = greet('e');
      return { first, again, all, isFirst: (yield df.Task.any([either])) === either };
    }
    let failed = false;
    const once = (input: unknown): unknown => {
      const fails = typeof input === 'object' && !failed;
      failed ||= fails;
      if (fails) throw new Error('not yet');
      return input;
    };
    const activities = { greet: once, nested: once };
    const run = await runJob(closeMonth, { settings, orchestrator: registered, activities });
    expect(run.error).toBeNull();
    expect(run.result).toEqual({ first: 'a', again: { name: 'b' }, all: [1, 'c', 'd'], isFirst: true });
  });

  it.each(['all', 'any'] as const)('fails at Task.%s of no task, as with Durable', async (which) => {
    function* none({ df }: OrchestrationContext) {
      return (yield df.Task[which]([])) as unknown;
    }
    const run = await runJob(closeMonth, { settings, orchestrator: none });
    expect(run).toMatchObject({
      outcome: 'failed',
      error: { message: expect.stringContaining('at least one Task') as unknown },
    });
  });

  it('is cancelled with its event', async () => {
    const seen: unknown[] = [];
    function* stuck({ df }: OrchestrationContext) {
      seen.push(yield df.waitForExternalEvent('cronlease.cancel'));
      yield df.callActivity('tidy');
    }
    const run = await runJob(closeMonth, {
      ...{ settings, orchestrator: stuck },
      activities: { tidy: () => undefined },
      during: ({ abort }) => abort('cancelled'),
    });
    expect(run).toMatchObject({ outcome: 'cancelled', activities: [{ name: 'tidy' }] });
    expect(seen).toEqual(['its run is over']);
  });

  it('says what is missing', async () => {
    await expect(runJob(closeMonth, { settings })).rejects.toThrow('needs the option "orchestrator"');
    const none = await runJob(closeMonth, { settings, orchestrator: closing });
    expect(none.error?.message).toBe('the test has no activity "list": add it to "activities"');
    function* waiting({ df }: OrchestrationContext) {
      yield df.waitForExternalEvent('answer');
    }
    await expect(runJob(closeMonth, { settings, orchestrator: waiting })).rejects.toThrow(
      'the orchestrator waits for "answer": add the data to "events"',
    );
    await expect(runJob(closeMonth, { settings: { input: {} }, orchestrator: closing })).rejects.toMatchObject({
      errors: [{ path: 'jobs.job.input.month' }],
    });
  });
});
