import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { EntityContext } from 'durable-functions';
import { planActions } from '../../src/local/durable/actions';
import type { Hub } from '../../src/local/durable/hub';
import { EventType, type HistoryEvent, historyEvent, orchestratorPayload } from '../../src/local/durable/history';
import { hubFiles } from '../../src/local/durable/hub-files';
import { type Instance, InvalidRequestError, isFinished } from '../../src/local/durable/instances';
import { loadRealPackages, NO_FILES } from '../support/local-host';

const packages = loadRealPackages();
const { app, EntityId } = packages.durable;
const COUNTER = { name: 'Counter', key: 'a' };

let gate = Promise.withResolvers<void>();
let begun = 0;

// Its promise is awaited, whatever the types say.
const counts = async (context: EntityContext<number>): Promise<void> => {
  const count = context.df.getState(() => 0) ?? 0;
  const by = context.df.getInput<number>() ?? 1;
  switch (context.df.operationName) {
    case 'add':
      context.df.setState(count + by);
      return context.df.return(count + by);
    case 'slow':
      begun += 1;
      await gate.promise;
      context.df.setState(count + by);
      return context.df.return(count + by);
    case 'get':
      return context.df.return(count);
    case 'pass':
      return context.df.signalEntity(new EntityId('counter', 'b'), 'add', count);
    case 'fail':
      throw 'no more counting';
    case 'end':
      return context.df.destructOnExit();
    default:
      return undefined;
  }
};
app.entity('Counter', counts as (context: EntityContext<number>) => void);

const counter = new EntityId('Counter', 'a');
app.orchestration('adds', function* (context) {
  const first: unknown = yield context.df.callEntity(counter, 'add', 2);
  const both: unknown = yield context.df.Task.all([
    context.df.callEntity(counter, 'add', 3),
    context.df.callEntity(new EntityId('Counter', 'c'), 'add', 1),
  ]);
  return [first, both];
});
app.orchestration('signals', function* (context) {
  context.df.signalEntity(counter, 'add', 5);
  context.df.signalEntity(counter, 'pass');
  const seen: unknown = yield context.df.callEntity(counter, 'get');
  context.df.signalEntity(counter, 'add', 10);
  return seen;
});
app.orchestration('catches', function* (context) {
  try {
    yield context.df.callEntity(counter, 'fail');
    return 'no error';
  } catch (error) {
    return (error as Error).message;
  }
});
app.orchestration('waits', function* (context) {
  return (yield context.df.callEntity(counter, 'slow', 1)) as unknown;
});
app.orchestration('asksNobody', function* (context) {
  return (yield context.df.callEntity(new EntityId('nobody', 'a'), 'get')) as unknown;
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

async function run(hub: Hub, name: string): Promise<unknown> {
  const { status, output } = await ended(hub, hub.start(name, undefined, 'null').id);
  expect(status).toBe('Completed');
  return JSON.parse(output ?? 'null') as unknown;
}

beforeEach(() => {
  gate = Promise.withResolvers();
  begun = 0;
  packages.errors.length = 0;
});

describe('entities of the real durable-functions on the embedded hub', () => {
  it('answer the calls of an orchestration, one after another', async () => {
    const hub = packages.hub();
    expect(await run(hub, 'adds')).toEqual([2, [5, 1]]);
    expect([hub.readEntity(COUNTER), hub.readEntity({ name: 'counter', key: 'c' })]).toEqual(['5', '1']);
  });

  it('take signals in order, those of the last episode too, and signal each other', async () => {
    const hub = packages.hub();
    expect(await run(hub, 'signals')).toBe(5);
    await vi.waitFor(() => expect(hub.readEntity(COUNTER)).toBe('15'));
    await vi.waitFor(() => expect(hub.readEntity({ name: 'Counter', key: 'b' })).toBe('5'));
  });

  it('fail the call of an operation that throws, and go on', async () => {
    const hub = packages.hub();
    expect(await run(hub, 'catches')).toBe('no more counting');
    expect(packages.errors).toEqual(["Error in operation 'fail' of @counter@a"]);
    expect(await run(hub, 'adds')).toEqual([2, [5, 1]]);
  });

  it('take signals of clients, and exist until they are destructed', async () => {
    const hub = packages.hub();
    expect(hub.readEntity(COUNTER)).toBeUndefined();
    hub.signalEntity(COUNTER, 'add', '7');
    hub.signalEntity(COUNTER, 'add', '');
    await vi.waitFor(() => expect(hub.readEntity(COUNTER)).toBe('8'));
    hub.signalEntity(COUNTER, 'end', '');
    await vi.waitFor(() => expect(hub.readEntity(COUNTER)).toBeUndefined());
    expect(() => hub.signalEntity({ name: 'nobody', key: 'a' }, 'add', '')).toThrow(InvalidRequestError);
  });

  it('fail an orchestration that asks for one that does not exist', async () => {
    const hub = packages.hub();
    const { status, output } = await ended(hub, hub.start('asksNobody', undefined, 'null').id);
    expect([status, output]).toEqual(['Failed', expect.stringMatching(/'nobody'.*not an entity function.*'Counter'/)]);
  });

  it('are continued by the next host: a call is carried out once', async () => {
    const parent = mkdtempSync(path.join(tmpdir(), 'cronlease-hub-'));
    const [folder, left] = [path.join(parent, 'first'), path.join(parent, 'left')];
    const first = packages.hub({ files: hubFiles(folder) });
    first.signalEntity(COUNTER, 'add', '40');
    await vi.waitFor(() => expect(first.readEntity(COUNTER)).toBe('40'));
    first.start('waits', 'one', 'null');
    await vi.waitFor(() => expect(begun).toBe(1));
    // Its process has died: nothing of it is written any more.
    cpSync(folder, left, { recursive: true });
    first.stop();
    const second = packages.hub({ files: hubFiles(left) });
    expect(second.readEntity(COUNTER)).toBe('40');
    await vi.waitFor(() => expect(begun).toBe(2));
    gate.resolve();
    expect((await ended(second, 'one')).output).toBe('41');
    expect(second.readEntity(COUNTER)).toBe('41');
    rmSync(parent, { recursive: true });
  });

  it('give an answer again that a killed host had not passed on', async () => {
    const parent = mkdtempSync(path.join(tmpdir(), 'cronlease-hub-'));
    const files = hubFiles(parent);
    const first = packages.hub({ files });
    first.start('waits', 'one', 'null');
    await vi.waitFor(() => expect(begun).toBe(1));
    const [waiting] = files.load();
    gate.resolve();
    await ended(first, 'one');
    if (waiting === undefined) throw new Error('nothing was saved');
    // As if the host had died between the two writes.
    files.save(waiting);
    const second = packages.hub({ files: hubFiles(parent) });
    expect((await ended(second, 'one')).output).toBe('1');
    expect([begun, second.readEntity(COUNTER)]).toEqual([1, '1']);
    rmSync(parent, { recursive: true });
  });
});

describe('the history of a call of an entity', () => {
  const ID = '4b4d4a2e-2b7c-4d5b-9a53-0a3d0c1a2b3c';
  /** As the extension writes it: the answer is an event with the id of the request as its name. */
  const documented: readonly HistoryEvent[] = [
    historyEvent({ EventType: EventType.OrchestratorStarted, IsPlayed: true }),
    historyEvent({ EventType: EventType.ExecutionStarted, Name: 'waits', Input: 'null', IsPlayed: true }),
    historyEvent({
      ...{ EventType: EventType.EventSent, EventId: 0, InstanceId: '@counter@a', Name: 'op', IsPlayed: true },
      Input: JSON.stringify({ op: 'slow', signal: false, input: '1', id: ID, parent: 'one', parentExecution: 'e' }),
    }),
    historyEvent({ EventType: EventType.OrchestratorCompleted }),
    historyEvent({ EventType: EventType.OrchestratorStarted }),
    historyEvent({ EventType: EventType.EventRaised, Name: ID, Input: '{"result":"7"}' }),
  ];

  it('is played by durable-functions and by the hub alike', async () => {
    const state = await packages.play(
      'waits',
      orchestratorPayload({ id: 'one', input: 'null', parent: undefined }, documented),
    );
    expect(state).toMatchObject({ isDone: true, output: 7 });
    expect(planActions(state.actions.flat(), documented)).toMatchObject({
      commands: [{ kind: 'entity', id: 0, entity: '@counter@a', operation: 'slow', input: 1, isSignal: false }],
      unseen: [],
    });
  });

  it('has this form on the embedded hub', async () => {
    let last: readonly HistoryEvent[] = [];
    const hub = packages.hub({ files: { ...NO_FILES, save: ({ history }) => void (last = [...history]) } });
    hub.start('waits', 'one', 'null');
    await vi.waitFor(() => expect(begun).toBe(1));
    const ofEntity = (history: readonly HistoryEvent[]) => history.find(({ EventType: type }) => type === 14);
    const sent = ofEntity(last);
    if (sent?.EventType !== EventType.EventSent) throw new Error('nothing was sent');
    expect(sent).toMatchObject({ EventId: 0, InstanceId: '@counter@a', Name: 'op' });
    expect(JSON.parse(sent.Input)).toMatchObject({ op: 'slow', signal: false, input: '1', parent: 'one' });
    gate.resolve();
    await ended(hub, 'one');
  });
});
