import fs, { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { OrchestrationContext, RetryOptions } from 'durable-functions';
import { type Hub, InstanceExistsError } from '../../src/local/durable/hub';
import { COMPACT_BYTES, hubFiles } from '../../src/local/durable/hub-files';
import { type Instance, InvalidRequestError, isFinished } from '../../src/local/durable/instances';
import { loadRealPackages } from '../support/local-host';

const packages = loadRealPackages();
const { app, EntityId, RetryOptions: Retry } = packages.durable;

let calls: string[] = [];
/** Lets activities wait until a test says so. */
let gate = Promise.withResolvers<void>();

const retry = (firstMs: number, attempts: number): RetryOptions => new Retry(firstMs, attempts);

app.activity('echo', { handler: (input: unknown) => input });
app.activity('note', {
  handler: (name: unknown) => {
    calls.push(String(name));
    return name;
  },
});
app.activity('flaky', {
  handler: (succeedAt: unknown) => {
    calls.push('flaky');
    if (calls.filter((call) => call === 'flaky').length < Number(succeedAt)) throw new Error('not yet');
    return 'at last';
  },
});
app.activity('broken', {
  handler: () => {
    throw new TypeError('no such thing');
  },
});
app.activity('gated', {
  handler: async (name: unknown) => {
    calls.push(`begin ${String(name)}`);
    await gate.promise;
    return name;
  },
});

const soon = (context: OrchestrationContext, ms: number): Date =>
  new Date(context.df.currentUtcDateTime.getTime() + ms);

app.orchestration('echoes', function* (context) {
  return (yield context.df.callActivity('echo', context.df.getInput())) as unknown;
});
app.orchestration('sequence', function* (context) {
  const first: unknown = yield context.df.callActivity('note', 'a');
  yield context.df.createTimer(soon(context, 20));
  const second: unknown = yield context.df.callActivity('note', 'b');
  context.df.setCustomStatus({ step: 2 });
  return [first, second, context.df.isReplaying];
});
app.orchestration('catches', function* (context) {
  try {
    yield context.df.callActivity('broken');
    return 'no error';
  } catch (error) {
    return (error as Error).message;
  }
});
app.orchestration('throws', function* (context) {
  yield context.df.callActivity('note', 'before');
  throw new Error('on purpose');
});
app.orchestration('fansOut', function* (context) {
  const tasks = ['x', 'y', 'z'].map((name) => context.df.callActivity('note', name));
  const all: unknown = yield context.df.Task.all(tasks);
  const last: unknown = yield context.df.callActivity('note', 'end');
  return [all, last];
});
app.orchestration('races', function* (context) {
  const timeout = context.df.createTimer(soon(context, 60_000));
  const work = context.df.callActivity('note', 'fast');
  const winner: unknown = yield context.df.Task.any([timeout, work]);
  if (winner === work) timeout.cancel();
  return [winner === work, (yield context.df.callActivity('note', 'after')) as unknown];
});
app.orchestration('retries', function* (context) {
  const succeedAt = context.df.getInput();
  // Beside another task, so that the retries' numbers are given out in the midst of others.
  const both: unknown = yield context.df.Task.all([
    context.df.callActivityWithRetry('flaky', retry(10, 3), succeedAt),
    context.df.callActivity('note', 'beside'),
  ]);
  return [both, (yield context.df.callActivity('note', 'end')) as unknown];
});
app.orchestration('waits', function* (context) {
  const first: unknown = yield context.df.waitForExternalEvent('go');
  const second: unknown = yield context.df.waitForExternalEvent('go');
  return [first, second];
});
app.orchestration('counts', function* (context) {
  const count = Number(context.df.getInput());
  yield context.df.callActivity('note', `round ${count}`);
  if (count < 3) {
    context.df.continueAsNew(count + 1);
    return undefined;
  }
  return count;
});
app.orchestration('nests', function* (context) {
  const lanes = ['a', 'b'].map((name) => context.df.callSubOrchestrator('lane', { name }));
  const all: unknown = yield context.df.Task.all(lanes);
  const last: unknown = yield context.df.callActivity('note', 'end');
  return [all, last];
});
app.orchestration('lane', function* (context) {
  const { name } = context.df.getInput<{ name: string }>();
  yield context.df.callActivity('note', `${name}1`);
  yield context.df.createTimer(soon(context, 5));
  yield context.df.callActivity('note', `${name}2`);
  return { name };
});
app.orchestration('nestsFailing', function* (context) {
  try {
    yield context.df.callSubOrchestrator('throws');
    return 'went on';
  } catch (error) {
    return String(error);
  }
});
app.orchestration('nestsFlaky', function* (context) {
  return (yield context.df.callSubOrchestratorWithRetry('flakyLane', retry(10, 3))) as unknown;
});
app.orchestration('flakyLane', function* (context) {
  return (yield context.df.callActivity('flaky', 2)) as unknown;
});
app.orchestration('locks', function* (context) {
  const lock: unknown = yield context.df.lock(new EntityId('counter', 'a'));
  return lock;
});
app.orchestration('asksNobody', function* (context) {
  return (yield context.df.callActivity('missing')) as unknown;
});
app.orchestration('isGated', function* (context) {
  return (yield context.df.callActivity('gated', context.df.instanceId)) as unknown;
});
let flips = 0;
app.orchestration('changesItsMind', function* (context) {
  yield context.df.callActivity(flips++ === 0 ? 'note' : 'echo', 'a');
  return (yield context.df.callActivity('note', 'b')) as unknown;
});

async function ended(hub: Hub, id: string): Promise<Instance> {
  return vi.waitFor(
    () => {
      const instance = hub.get(id);
      if (instance === undefined || !isFinished(instance.status)) throw new Error(`${id} has not ended`);
      return instance;
    },
    { timeout: 20_000, interval: 2 },
  );
}

async function run(
  name: string,
  input: unknown = null,
): Promise<{ readonly status: string; readonly output: unknown }> {
  const hub = packages.hub();
  const { status, output } = await ended(hub, hub.start(name, undefined, JSON.stringify(input)).id);
  return { status, output: JSON.parse(output ?? 'null') as unknown };
}

beforeEach(() => {
  calls = [];
  packages.errors.length = 0;
  gate = Promise.withResolvers();
});

describe('orchestrations of the real durable-functions on the hub in memory', () => {
  it.each([['text'], [7], [{ a: [1, null], b: 'two' }], ['{"looks":"like JSON"}'], [false]])(
    'passes %j to an activity and back as it is',
    async (input) => {
      expect(await run('echoes', input)).toEqual({ status: 'Completed', output: input });
    },
  );

  it.each([
    ['20 ms', 20, 1],
    ['30 days, which is longer than a timer of Node can be', 30 * 86_400_000, 0],
  ])('ends the host after a functionTimeout of %s', async (_, timeoutMs, errors) => {
    const hub = packages.hub({ timeoutMs });
    const { id } = hub.start('isGated', undefined, 'null');
    await vi.waitFor(() => expect(calls).toHaveLength(1), { timeout: 20_000, interval: 2 });
    await new Promise((resolve) => setTimeout(resolve, 60));
    gate.resolve();
    await ended(hub, id);
    expect(packages.errors).toHaveLength(errors);
  });

  it('passes nothing as null', async () => {
    expect(await run('echoes')).toEqual({ status: 'Completed', output: null });
  });

  it('runs activities and timers one after another, and replays', async () => {
    const hub = packages.hub();
    const { id } = hub.start('sequence', 'one', 'null');
    const { status, output, customStatus } = await ended(hub, id);
    expect([status, output, customStatus]).toEqual(['Completed', '["a","b",false]', '{"step":2}']);
    expect(calls).toEqual(['a', 'b']);
  });

  it("tells the orchestrator of an activity's error as the extension does", async () => {
    const { status, output } = await run('catches');
    expect(status).toBe('Completed');
    expect(output).toContain("Activity function 'broken' failed: no such thing \n ");
  });

  it('fails with the error of the orchestrator', async () => {
    expect(await run('throws')).toEqual({
      status: 'Failed',
      output: "Orchestrator function 'throws' failed: on purpose",
    });
    expect(calls).toEqual(['before']);
  });

  it('runs activities side by side', async () => {
    expect(await run('fansOut')).toEqual({ status: 'Completed', output: [['x', 'y', 'z'], 'end'] });
  });

  it('goes on with the first that ends, and drops a timer that was cancelled', async () => {
    expect(await run('races')).toEqual({ status: 'Completed', output: [true, 'after'] });
  });

  it.each([1, 2, 3])('tries an activity again until attempt %d succeeds', async (succeedAt) => {
    expect(await run('retries', succeedAt)).toEqual({
      status: 'Completed',
      output: [['at last', 'beside'], 'end'],
    });
    expect(calls.filter((call) => call === 'flaky')).toHaveLength(succeedAt);
  });

  it('gives up when the attempts are used up', async () => {
    const { status, output } = await run('retries', 4);
    expect(status).toBe('Failed');
    expect(output).toContain('not yet');
    expect(calls.filter((call) => call === 'flaky')).toHaveLength(3);
  });

  it('delivers external events, also early ones', async () => {
    const hub = packages.hub();
    const { id } = hub.start('waits', undefined, 'null');
    hub.raiseEvent(id, 'go', '1');
    hub.raiseEvent(id, 'go', '{"n":2}');
    expect((await ended(hub, id)).output).toBe('[1,{"n":2}]');
  });

  it('starts over with a new input', async () => {
    expect(await run('counts', 1)).toEqual({ status: 'Completed', output: 3 });
    expect(calls).toEqual(['round 1', 'round 2', 'round 3']);
  });

  it('runs sub-orchestrations side by side, each in its own order', async () => {
    const { status, output } = await run('nests');
    expect({ status, output }).toEqual({ status: 'Completed', output: [[{ name: 'a' }, { name: 'b' }], 'end'] });
    for (const lane of ['a', 'b']) expect(calls.indexOf(`${lane}1`)).toBeLessThan(calls.indexOf(`${lane}2`));
    expect(calls.at(-1)).toBe('end');
  });

  it('tells an orchestrator that its sub-orchestration has failed', async () => {
    const { status, output } = await run('nestsFailing');
    expect(status).toBe('Completed');
    expect(output).toContain('on purpose');
  });

  it('repeats a sub-orchestration that has failed', async () => {
    expect(await run('nestsFlaky')).toMatchObject({ status: 'Completed', output: 'at last' });
  });

  it('refuses what it does not run, by name', async () => {
    const { status, output } = await run('locks');
    expect(status).toBe('Failed');
    expect(output).toMatch(/^Orchestrator function 'locks' failed: The embedded host does not run lock\./);
    expect(output).toContain('Use Azure Functions Core Tools for the rest.');
  });

  it('fails an orchestration that asks for an activity that does not exist', async () => {
    const { status, output } = await run('asksNobody');
    expect(status).toBe('Failed');
    expect(output).toMatch(
      /The function 'missing' doesn't exist, .*not an activity function. Those there are: 'echo', 'note'/,
    );
  });

  it('fails an orchestrator that is not deterministic', async () => {
    const { status, output } = await run('changesItsMind');
    expect(status).toBe('Failed');
    expect(output).toContain("it first asked for the activity 'note', now for the activity 'echo'");
  });
});

describe('the hub', () => {
  it('refuses an id that is under way, and uses one again that has ended', async () => {
    const hub = packages.hub();
    hub.start('isGated', 'same', 'null');
    expect(() => hub.start('isGated', 'same', 'null')).toThrow(InstanceExistsError);
    await vi.waitFor(() => expect(calls).toEqual(['begin same']));
    expect(() => hub.start('isGated', 'same', 'null')).toThrow(
      'An Orchestration instance with the status Running already exists.',
    );
    gate.resolve();
    await ended(hub, 'same');
    expect(hub.start('isGated', 'same', 'null').status).toBe('Pending');
    expect((await ended(hub, 'same')).output).toBe('"same"');
  });

  it.each(['@x', 'a/b', 'a\\b', 'a?b', 'a#b', 'a\nb', 'x'.repeat(101)])('refuses the instance id %j', (id) => {
    expect(() => packages.hub().start('echoes', id, 'null')).toThrow(InvalidRequestError);
  });

  it('names the orchestrators there are when one is unknown', () => {
    expect(() => packages.hub().start('nobody', undefined, 'null')).toThrow(
      /doesn't exist.*not an orchestrator.*'echoes', 'sequence'/,
    );
  });

  it('runs no more activities at once than it may', async () => {
    const hub = packages.hub({ maxConcurrentActivities: 2 });
    const ids = ['1', '2', '3'].map((id) => hub.start('isGated', id, 'null').id);
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    await new Promise(setImmediate);
    expect(calls).toHaveLength(2);
    gate.resolve();
    await Promise.all(ids.map((id) => ended(hub, id)));
    expect(calls).toHaveLength(3);
  });

  it('delays the messages of activities, as queues that are polled do', async () => {
    const startedAt = performance.now();
    const slow = packages.hub({ handOverDelayMs: 300 });
    const [id] = ['1', '2', '3'].map((one) => slow.start('isGated', one, 'null').id);
    await vi.waitFor(() => expect(calls).toHaveLength(3), { interval: 5 });
    // A timer may fire a millisecond early.
    expect(performance.now() - startedAt).toBeGreaterThan(298);
    gate.resolve();
    await ended(slow, String(id));
  });

  it('terminates, and pays no heed to what comes after', async () => {
    const hub = packages.hub({ maxConcurrentActivities: 1 });
    hub.start('isGated', 'victim', 'null');
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    hub.terminate('victim', 'enough');
    gate.resolve();
    // Its activity comes after the victim's.
    await ended(hub, hub.start('echoes', 'marker', '1').id);
    expect(hub.get('victim')).toMatchObject({ status: 'Terminated', output: '"enough"' });
  });

  it('forgets what is purged, unless it is under way', async () => {
    const hub = packages.hub();
    hub.start('isGated', 'kept', 'null');
    expect(hub.purge('kept')).toBe(false);
    gate.resolve();
    await ended(hub, 'kept');
    expect(hub.purge('kept')).toBe(true);
    expect(hub.get('kept')).toBeUndefined();
  });

  it('keeps the newest thousand that have ended', async () => {
    const hub = packages.hub({ maxConcurrentActivities: 100 });
    for (let n = 0; n < 1010; n++) hub.start('echoes', `i${n}`, '1');
    await ended(hub, 'i1009');
    await vi.waitFor(() => expect(Array.from(hub.list())).toHaveLength(1000));
    expect(hub.get('i0')).toBeUndefined();
  });

  it('is continued by the next host, but for what a dead one had taken', async () => {
    const parent = mkdtempSync(path.join(tmpdir(), 'cronlease-hub-'));
    const [folder, left] = [path.join(parent, 'first'), path.join(parent, 'left')];
    const visibility = { workItemMs: 400, controlMs: 400 };
    const first = packages.hub({ maxConcurrentActivities: 1, files: hubFiles(folder), visibility });
    first.start('isGated', 'taken', 'null');
    await vi.waitFor(() => expect(calls).toEqual(['begin taken']));
    first.start('isGated', 'waits', 'null');
    first.start('sequence', 'sleeps', 'null');
    await vi.waitFor(() => expect(hubFiles(folder).load()).toHaveLength(3));
    await vi.waitFor(() => expect(first.get('sleeps')?.status).toBe('Running'));
    // Its process has died: nothing of it is written any more.
    cpSync(folder, left, { recursive: true });
    first.stop();
    const diedAt = Date.now();
    calls = [];
    const second = packages.hub({ files: hubFiles(left), visibility });
    await vi.waitFor(() => expect(calls).toContain('begin waits'));
    expect(calls).not.toContain('begin taken');
    await ended(second, 'sleeps');
    expect(calls.filter((call) => call === 'a' || call === 'b')).toEqual(['a', 'b']);
    await vi.waitFor(() => expect(calls).toContain('begin taken'));
    expect(Date.now() - diedAt).toBeGreaterThan(200);
    gate.resolve();
    expect(await ended(second, 'taken')).toMatchObject({ status: 'Completed', output: '"taken"' });
    expect(await ended(second, 'waits')).toMatchObject({ status: 'Completed', output: '"waits"' });
    await vi.waitFor(() => expect(hubFiles(left).load()).toEqual([]));
    rmSync(parent, { recursive: true });
  });

  it('keeps a journal that a kill may cut off, and that does not grow for ever', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-hub-'));
    const files = hubFiles(folder);
    const hub = packages.hub({ maxConcurrentActivities: 1, files });
    hub.start('isGated', 'stays', 'null');
    await vi.waitFor(() => expect(calls).toEqual(['begin stays']));
    const [stays] = files.load();
    if (stays === undefined) throw new Error('nothing was saved');
    const input = JSON.stringify('x'.repeat(COMPACT_BYTES / 4));
    for (let n = 0; n < 12; n++) {
      files.save({ ...stays, id: `long ${n}`, input });
      files.remove(`long ${n}`);
    }
    const journal = readdirSync(folder).map((name) => path.join(folder, name));
    expect(journal.map((file) => statSync(file).size).every((size) => size < 2 * COMPACT_BYTES)).toBe(true);
    for (const file of journal) appendFileSync(file, 'cut%20off {"id":');
    const next = hubFiles(folder);
    expect(next.load()).toEqual([stays]);
    next.save({ ...stays, id: 'after a cut' });
    expect(next.load().map(({ id }) => id)).toEqual(['stays', 'after a cut']);
    gate.resolve();
    await ended(hub, 'stays');
    rmSync(folder, { recursive: true });
  });

  it('keeps a journal that a full disk has cut off', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-hub-'));
    const files = hubFiles(folder);
    const hub = packages.hub({ maxConcurrentActivities: 1, files });
    hub.start('isGated', 'stays', 'null');
    await vi.waitFor(() => expect(calls).toEqual(['begin stays']));
    const [stays] = files.load();
    if (stays === undefined) throw new Error('nothing was saved');
    const { writeSync } = fs;
    const half = (file: number, text: string | Buffer): number => writeSync(file, String(text).slice(0, 40));
    const spies = [
      vi.spyOn(fs, 'writeSync').mockImplementation(half),
      vi.spyOn(fs, 'writeFileSync').mockImplementation(((file: number, text: Buffer) => {
        half(file, text);
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      }) as never),
    ];
    try {
      files.save({ ...stays, id: 'lost' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
    for (const spy of spies) spy.mockRestore();
    files.save({ ...stays, id: 'after it' });
    expect(hubFiles(folder).load()).toEqual([stays, { ...stays, id: 'after it' }]);
    gate.resolve();
    await ended(hub, 'stays');
    rmSync(folder, { recursive: true });
  });

  it('takes orchestrations once it is stopped, and runs none', async () => {
    const hub = packages.hub({ maxConcurrentActivities: 1 });
    hub.start('isGated', 'runs', 'null');
    hub.start('isGated', 'waits', 'null');
    await vi.waitFor(() => expect(calls).toEqual(['begin runs']));
    hub.stop();
    hub.start('isGated', 'late', 'null');
    gate.resolve();
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(calls).toEqual(['begin runs']);
    expect(['runs', 'waits', 'late'].map((id) => hub.get(id)?.status)).toEqual(['Running', 'Running', 'Pending']);
  });
});
