import type { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Client, createClient } from '../../src/client/index';
import { createProgram } from '../../src/cli/program';
import { loadJobs } from '../../src/config/load';
import type { JobName } from '../../src/core/brand';
import { FLEET } from '../../src/core/fleet';
import { encodeRow, newRow } from '../../src/core/row';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { listAudit } from '../../src/operator/audit';
import { manageBench, type ManageBench, type Sent } from '../support/manage';
import { scratchFolder } from '../support/scratch';

/** The store that the shell opens, and the number of the next random id. */
const world = vi.hoisted((): { store: LeaseStore | undefined; ids: number } => ({ store: undefined, ids: 0 }));

vi.mock(import('../../src/cli/storage.js'), async (original) => {
  const real = await original();
  const openStore = (): LeaseStore => world.store ?? expect.fail('no store is open');
  const noElections = { ...real.deskOf({} as LeaseStore), store: { listRows: () => Promise.resolve(new Map()) } };
  const openElections = (() => noElections) as unknown as typeof real.openElections;
  const shellIdentity = (): Promise<undefined> => Promise.resolve(undefined);
  return { ...real, openStore, openAccounts: () => [openStore()], openElections, shellIdentity };
});
vi.mock(import('node:os'), async (original) => {
  const real = await original();
  return { ...real, userInfo: (() => ({ username: 'of-operator' })) as unknown as typeof real.userInfo };
});
vi.mock(import('node:crypto'), async (original) => ({
  ...(await original()),
  randomInt: (() => (world.ids += 1)) as unknown as typeof randomInt,
}));

const T0 = Date.UTC(2026, 0, 1);
const jobsFile = path.join(scratchFolder('operations'), 'jobs.json');
const every = { schedule: '* * * * *', handler: 'h.js' };
writeFileSync(
  jobsFile,
  JSON.stringify({ jobs: { a: every, c: every, bad: every, slow: every, asked: { ...every, schedule: '@manual' } } }),
);

beforeEach(() => {
  vi.stubEnv('CRONLEASE_STORAGE', 'memory');
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Two minutes in: `bad` has failed twice, and `slow` is running. */
async function start(): Promise<ManageBench> {
  const made = manageBench({
    ...{ jobs: loadJobs(jobsFile).jobsFile.jobs, deployments: 1, sweepIntervalMs: 5_000, presences: true },
    async handler({ job }) {
      if (job === 'bad') throw new Error('it fails');
      if (job === 'slow') await new Promise(() => undefined);
    },
  });
  await made.sim.clock.advance(125_000);
  return made;
}

async function byShell({ sim }: ManageBench, args: readonly string[], store: LeaseStore = sim.store): Promise<void> {
  world.store = store;
  vi.useFakeTimers({ toFake: ['Date'], now: sim.clock.now() });
  const given = args[0] === 'shards' || args[0]?.endsWith('cordon') === true ? [] : ['--file', jobsFile];
  await createProgram(() => undefined)
    .parseAsync([...args, ...given], { from: 'user' })
    .catch((error: unknown) => {
      // The entry of the refusal is compared.
      if (!(error instanceof Error && error.name === 'OperatorError')) throw error;
    });
  vi.useRealTimers();
}

async function byClient({ send }: ManageBench, call: (client: Client) => Promise<unknown>): Promise<void> {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const answer = await send({
      ...{ method: request.method, path: pathname.slice(1) + search, as: 'operator' },
      ...(request.method === 'POST' ? { body: await request.text() } : {}),
    });
    return new Response(answer.text, { status: answer.status, headers: { ...answer.headers } });
  };
  await call(createClient({ baseUrl: 'https://app.example.net', fetch })).catch((error: unknown) => {
    if (!(error instanceof Error && error.name === 'ApiError')) throw error;
  });
}

/** What is stored, apart from the channel, which is the one difference that there may be. */
async function left({ sim: { store } }: ManageBench): Promise<unknown> {
  const [{ entries }, { jobs }, fleet] = await Promise.all([
    listAudit(store, { limit: 50 }),
    store.list(),
    store.readControl(FLEET),
  ]);
  const stored = {
    audit: entries.map((entry) => ({ ...entry, id: undefined })),
    controls: [...jobs].map(([name, { control }]) => [name, control?.metadata]),
    fleet: fleet.control?.metadata,
  };
  return JSON.parse(JSON.stringify(stored).replaceAll('shell', 'key')) as unknown;
}

const post = (at: string, body: unknown = {}): Sent => ({ method: 'POST', path: at, body, as: 'operator' });
const minute = (n: number): string => new Date(T0 + n * 60_000).toISOString();
const runOf = (job: string, n: number): string => `${job}-${minute(n).replace(/[-:]|\.000/g, '')}`;

interface Verb {
  readonly before?: readonly Sent[];
  readonly shell: readonly string[];
  readonly http: Sent;
  readonly client: (client: Client) => Promise<unknown>;
  readonly state?: 'refused';
}

const note = 'why not';
const until = '2026-01-02T00:00:00Z';
const both = { jobs: ['a', 'c'] };
const pauseBoth = post('pause', { ...both, note });

const VERBS: Readonly<Record<string, Verb>> = {
  pause: {
    shell: ['pause', 'a', '--note', note, '--until', until],
    http: post('jobs/a/pause', { note, until }),
    client: (client) => client.pauseJob('a', note, { until }),
  },
  'pause, refused': {
    before: [post('jobs/a/pause', { note: 'first' })],
    shell: ['pause', 'a', '--note', note],
    http: post('jobs/a/pause', { note }),
    client: (client) => client.pauseJob('a', note),
    state: 'refused',
  },
  resume: {
    before: [post('jobs/a/pause', { note: 'first' })],
    shell: ['resume', 'a', '--note', note],
    http: post('jobs/a/resume', { note }),
    client: (client) => client.resumeJob('a', { note }),
  },
  'pause several': {
    shell: ['pause', 'a', 'c', '--note', note, '--until', until, '--yes'],
    http: post('pause', { ...both, note, until }),
    client: (client) => client.pauseJobs(both, note, { until }),
  },
  'pause several, one of which is paused': {
    before: [post('jobs/a/pause', { note: 'first' })],
    shell: ['pause', 'a', 'c', '--note', note, '--yes'],
    http: pauseBoth,
    client: (client) => client.pauseJobs(both, note),
  },
  'resume several': {
    before: [pauseBoth],
    shell: ['resume', 'a', 'c', '--yes'],
    http: post('resume', both),
    client: (client) => client.resumeJobs(both),
  },
  'resume several that were resumed one by one': {
    before: [pauseBoth, post('jobs/a/resume'), post('jobs/c/resume')],
    shell: ['resume', 'a', 'c', '--yes', '--note', note],
    http: post('resume', { ...both, note }),
    client: (client) => client.resumeJobs(both, { note }),
    state: 'refused',
  },
  run: {
    shell: ['run', 'asked', '--note', note, '--input', '{"day":1}'],
    http: post('jobs/asked/runs', { note, input: { day: 1 } }),
    client: (client) => client.runJob('asked', { note, input: { day: 1 } }),
  },
  rerun: {
    shell: ['rerun', 'a', minute(1), '--note', note, '--input', '{"day":1}'],
    http: post(`runs/${runOf('a', 1)}/rerun`, { note, input: { day: 1 } }),
    client: (client) => client.rerun(runOf('a', 1), { note, input: { day: 1 } }),
  },
  cancel: {
    shell: ['cancel', 'slow', '--note', note],
    http: post(`runs/${runOf('slow', 1)}/cancel`, { note }),
    client: (client) => client.cancelRun(runOf('slow', 1), { note }),
  },
  ack: {
    shell: ['ack', 'bad', '--note', note, '--until', until],
    http: post('jobs/bad/acknowledgement', { note, until }),
    client: (client) => client.acknowledge('bad', { note, until }),
  },
  unack: {
    before: [post('jobs/bad/acknowledgement', {})],
    shell: ['unack', 'bad'],
    http: { method: 'DELETE', path: 'jobs/bad/acknowledgement', as: 'operator' },
    client: (client) => client.unacknowledge('bad'),
  },
  cordon: {
    shell: ['cordon', 'd1', '--note', note],
    http: post('deployments/d1/cordon', { note }),
    client: (client) => client.cordonDeployment('d1', note),
  },
  uncordon: {
    before: [post('deployments/d1/cordon', { note: 'first' })],
    shell: ['uncordon', 'd1', '--note', note],
    http: post('deployments/d1/uncordon', { note }),
    client: (client) => client.uncordonDeployment('d1', { note }),
  },
  backfill: {
    shell: ['backfill', 'bad', '--from', minute(1), '--to', minute(2), '--order', 'newest', '--note', note, '--yes'],
    http: post('jobs/bad/backfill', { from: minute(1), to: minute(2), order: 'newest', note }),
    client: (client) => client.startBackfill('bad', { from: minute(1), to: minute(2), order: 'newest' }, { note }),
  },
  'backfill --stop': {
    before: [post('jobs/bad/backfill', { from: minute(1) })],
    shell: ['backfill', 'bad', '--stop'],
    http: { method: 'DELETE', path: 'jobs/bad/backfill', as: 'operator' },
    client: (client) => client.stopBackfill('bad'),
  },
};

describe('an operation leaves the same entries and the same state, by shell, HTTP and client', () => {
  it.each(Object.entries(VERBS))('%s', async (_, { before = [], shell, http, client, state = 'done' }) => {
    const done = async (act: (made: ManageBench) => Promise<unknown>): Promise<unknown> => {
      const made = await start();
      world.ids = 100;
      for (const sent of before) expect((await made.send(sent)).status).toBeLessThan(300);
      await made.sim.clock.advance(1);
      await act(made);
      return left(made);
    };
    const expected = await done(({ send }) => send(http));
    expect(expected).toMatchObject({ audit: expect.arrayContaining([expect.objectContaining({ state })]) });
    expect(await done((made) => byShell(made, shell))).toEqual(expected);
    expect(await done((made) => byClient(made, client))).toEqual(expected);
  });
});

/** The store, which lists nothing and reads no record once something was changed. */
function blindAfterChange(store: LeaseStore): LeaseStore {
  let isBlind = false;
  const blind =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    (...args: Args): Promise<Answer> =>
      isBlind ? Promise.reject(new StoreUnavailableError('no answer')) : call(...args);
  const change =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await call(...args);
      isBlind = true;
      return answer;
    };
  const { list, listPresences, readRecord, writeControl, release } = store;
  return {
    ...store,
    ...{ list: blind(list), listPresences: blind(listPresences), readRecord: blind(readRecord) },
    ...{ writeControl: change(writeControl), release: change(release) },
  };
}

describe('a choice by pattern', () => {
  it('fails for the jobs of an account that does not answer, after it has acted on the others', async () => {
    const made = await start();
    const missing = [{ location: 'b', reason: 'b does not answer' }];
    const list: LeaseStore['list'] = async (options) => ({ ...(await made.sim.store.list(options)), missing });
    world.store = { ...made.sim.store, list };
    const codes: number[] = [];
    const program = createProgram((code) => void codes.push(code));
    await program.parseAsync(['pause', 'a*', '--note', note, '--yes', '--file', jobsFile], { from: 'user' });
    expect(codes).toEqual([1]);
    expect(vi.mocked(process.stdout.write).mock.calls.join('\n')).toContain('Paused a at');
    expect(vi.mocked(process.stderr.write).mock.calls.join('\n')).toContain('b does not answer: its jobs that');
  });
});

describe('a command whose change is made', () => {
  it.each([
    ['pause', [], ['pause', 'a', '--note', note], 'Paused a at'],
    ['resume', [post('jobs/a/pause', { note: 'first' })], ['resume', 'a'], 'Resumed a after'],
    ['cordon', [], ['cordon', 'd1', '--note', note], 'Cordoned d1 at'],
    ['forget', [], ['forget', 'old'], 'old is forgotten'],
  ] as const)('says so, although storage does not answer what follows: %s', async (_, before, shell, text) => {
    const made = await start();
    for (const sent of before) expect((await made.send(sent)).status).toBeLessThan(300);
    await made.sim.clock.advance(70_000);
    await made.sim.store.createRow('old' as JobName, encodeRow(newRow(T0, 0, 'hash')));
    await byShell(made, shell, blindAfterChange(made.sim.store));
    const printed = (stream: NodeJS.WriteStream): string => vi.mocked(stream.write).mock.calls.join('\n');
    expect(printed(process.stdout)).toContain(text);
    expect(printed(process.stderr)).toContain('the change took place, but what follows from it could not be read');
  });
});

describe('recover', () => {
  const recorded = async ({ sim }: ManageBench): Promise<readonly unknown[]> =>
    (await listAudit(sim.store, { limit: 50 })).entries;

  it('records that it changes the jobs, and how, but not that it looks at them', async () => {
    const made = await start();
    for (const instance of made.sim.instances) instance.kill();
    await made.sim.clock.advance(60_000);
    await byShell(made, ['recover', '--after-failover']);
    expect(await recorded(made)).toEqual([]);
    await byShell(made, ['recover', '--after-failover', '--fail', '--raise-by', '7', '--apply']);
    const after = { until: '2026-01-01T00:03:05.000Z', raiseBy: 7, runs: 'fail', refused: 0 };
    expect(await recorded(made)).toMatchObject([{ action: 'recover', target: 'jobs', state: 'done', after }]);
  });
});
