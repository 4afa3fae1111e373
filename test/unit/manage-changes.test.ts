import { describe, expect, it } from 'vitest';
import { type AuditEntry, auditKey, decodeAudit, encodeAudit } from '../../src/core/audit';
import type { JobName } from '../../src/core/brand';
import { recordKey, runIdOf } from '../../src/core/key';
import { StoreUnavailableError } from '../../src/lease/store';
import { selects } from '../../src/core/job-pattern';
import { redactSetting } from '../../src/functions/redact';
import { writeCursor } from '../../src/manage/cursor';
import { checkMetadata } from '../../src/stores/limits';
import { operate } from '../../src/operator/audit';
import { startMaintenance } from '../../src/operator/operations/fleet';
import { forgetJob } from '../../src/operator/operations/forget';
import { intercepted } from '../support/intercept';
import { jobSpec } from '../support/job';
import { manageBench, type ManageBench, type Sent } from '../support/manage';

async function bench(store: Parameters<typeof manageBench>[1] = {}): Promise<ManageBench> {
  const jobs = [jobSpec('a', '* * * * *'), jobSpec('b', '@manual', { overlap: 'queue' })];
  const handler = (): unknown => ({ of: '4111' });
  const made = manageBench({ jobs, handler, deployments: 1, sweepIntervalMs: 5_000 }, store);
  await made.sim.clock.advance(125_000);
  return made;
}

interface Listed {
  readonly entries: readonly unknown[];
  readonly cursor: string | null;
}

async function audit({ send }: ManageBench, query = ''): Promise<readonly Record<string, unknown>[]> {
  const { json } = await send({ path: `audit${query}`, as: 'viewer' });
  return (json as { entries: Record<string, unknown>[] }).entries;
}

const ANN = { actor: 'ann', channel: 'shell' } as const;
const pause: Sent = { method: 'POST', path: 'jobs/a/pause', body: { note: 'moving' }, as: 'operator' };
const resume: Sent = { method: 'POST', path: 'jobs/a/resume', body: { note: 'moved' }, as: 'admin' };

describe('each change is recorded', () => {
  it('with who, when, from where, what before and after, newest first', async () => {
    const made = await bench();
    expect((await made.send(pause)).json).toMatchObject({ recorded: true });
    await made.sim.clock.advance(1_000);
    await made.send(resume);
    await made.sim.clock.advance(1_000);
    const { json } = await made.send({
      method: 'POST',
      path: 'jobs/b/runs',
      body: { note: 'a test' },
      as: 'operator',
    });
    const { runId } = json as { runId: string };
    await made.sim.clock.advance(1_000);
    await made.send(resume);
    const since = '2026-01-01T00:02:05.000Z';
    const until = '2026-01-01T00:02:06.000Z';
    expect(await audit(made)).toMatchObject([
      { actor: 'of-admin', action: 'resume', state: 'refused', after: 'job "a" is not paused' },
      {
        actor: 'of-operator',
        channel: 'key',
        note: 'a test',
        action: 'run',
        target: 'b',
        state: 'done',
        after: { runId },
      },
      {
        ...{ at: until, actor: 'of-admin', note: 'moved', action: 'resume', target: 'a', state: 'done' },
        before: { by: 'of-operator', note: 'moving', since, until: null },
        after: { by: 'of-operator', note: 'moving', since, until },
      },
      { at: since, action: 'pause', target: 'a', note: 'moving', after: { since, until: null } },
    ]);
  });

  it('shows inputs and results to those alone who have the role payloads, or are operators', async () => {
    const made = await bench();
    const input = { card: '4111' };
    const { json } = await made.send({ method: 'POST', path: 'jobs/b/runs', body: { input }, as: 'operator' });
    const { runId } = json as { runId: string };
    await made.sim.clock.advance(60_000);
    for (const as of ['payloads', 'operator', 'admin'] as const) {
      const entries = await made.send({ path: 'audit', as });
      expect(entries.json).toMatchObject({ entries: [{ proven: true, identity: null, after: { runId, input } }] });
      expect((await made.send({ path: 'me', as })).json).toMatchObject({ payloads: true });
      expect((await made.send({ path: `runs/${runId}`, as })).json).toMatchObject({
        ...{ result: { of: '4111' }, input: { value: input, from: 'manualRun', isRedacted: false } },
      });
    }
    const plain = await Promise.all(['audit', `runs/${runId}`].map((path) => made.send({ path, as: 'viewer' })));
    expect(plain[0]?.json).toMatchObject({ entries: [{ after: { runId, input: '(needs the role payloads)' } }] });
    expect(plain[1]?.json).toMatchObject({ outcome: 'succeeded', resultHidden: true, inputHidden: true });
    expect(plain.map(({ text }) => text).join('')).not.toContain('4111');
  });

  it('shows the input of a run without its secrets, as the run itself does', async () => {
    const redact = redactSetting({ CRONLEASE_REDACT: '["4111"]' });
    const made = await bench({ redact });
    const input = { card: '4111', to: 'ann' };
    const { json } = await made.send({ method: 'POST', path: 'jobs/b/runs', body: { input }, as: 'operator' });
    await made.sim.clock.advance(60_000);
    const [listed, shown] = await Promise.all(
      ['audit', `runs/${(json as { runId: string }).runId}`].map((path) => made.send({ path, as: 'payloads' })),
    );
    expect(shown?.json).toMatchObject({ input: { value: { card: '***', to: 'ann' } } });
    expect(listed?.json).toMatchObject({ entries: [{ after: { input: { card: '***', to: 'ann' } } }] });
    expect(listed?.text).not.toContain('4111');
  });

  it('keeps the identity of Entra beside the name', () => {
    const origin = { actor: 'Ann', channel: 'browser', identity: 't/o' };
    const entry: AuditEntry = { at: 1, origin, action: 'run', target: 'a', state: 'begun' };
    expect(decodeAudit(encodeAudit(entry))).toMatchObject({ origin });
    const { identity: _, ...unproven } = origin;
    expect(decodeAudit(encodeAudit({ ...entry, origin: unproven })).origin).toEqual(unproven);
  });

  it('in pages', async () => {
    const made = await bench();
    for (let second = 0; second < 5; second += 1) {
      await made.send(second % 2 === 0 ? pause : resume);
      await made.sim.clock.advance(1_000);
    }
    const first = await made.send({ path: 'audit?limit=3', as: 'viewer' });
    const { entries, cursor } = first.json as { entries: { action: string }[]; cursor: string };
    expect(entries.map(({ action }) => action)).toEqual(['pause', 'resume', 'pause']);
    expect((await audit(made, `?cursor=${cursor}`)).map(({ action }) => action)).toEqual(['resume', 'pause']);
    const cut = await made.send({ path: `audit?cursor=${cursor.slice(0, -2)}`, as: 'viewer' });
    expect(cut.json).toMatchObject({ status: 400, place: 'query: cursor' });
    // In several accounts, it has the place in each, which storage tells in more than a hundred characters.
    const ofMany = writeCursor(['~'.repeat(4_000)]);
    expect(await made.send({ path: `audit?cursor=${ofMany}`, as: 'viewer' })).toMatchObject({ status: 200 });
  });

  it('and is found by its words, however many came after it', async () => {
    const made = await bench();
    await made.send(pause);
    const [origin, start] = [{ actor: 'ben@example.com', channel: 'shell', note: 'a drill' }, made.sim.clock.now()];
    for (let n = 1; n <= 1_300; n += 1) {
      const entry = { at: start + n, origin, action: 'run', target: 'b', state: 'done', after: n } as const;
      await made.sim.store.writeAudit(auditKey(entry.at, 'x'), encodeAudit(entry), undefined);
    }
    expect(await audit(made, '?q=DRILL%20ben@&limit=2')).toHaveLength(200);
    const first = (await made.send({ path: 'audit?q=moving%20pause', as: 'viewer' })).json as Listed;
    // A thousand changes at most are looked at for one page.
    expect([first.entries, made.calls.get('listAudits')]).toEqual([[], 6]);
    const next = await audit(made, `?q=moving%20pause&cursor=${encodeURIComponent(first.cursor ?? '')}`);
    expect(next).toMatchObject([{ action: 'pause', target: 'a', note: 'moving' }]);
    expect(await audit(made, '?q=moving%20resume')).toEqual([]);
  });

  it('and is found by its action, its channel and its time', async () => {
    const made = await bench();
    const start = made.sim.clock.now();
    for (let n = 1; n <= 500; n += 1) {
      const origin = { actor: 'ben@example.com', channel: n % 5 === 0 ? 'key' : 'shell', note: 'a drill' };
      const action = n % 2 === 0 ? 'run' : 'rerun';
      const entry = { at: start + n * 1_000, origin, action, target: 'b', state: 'done', after: n } as const;
      await made.sim.store.writeAudit(auditKey(entry.at, 'x'), encodeAudit(entry), undefined);
    }
    const found = async (query: string) => (await audit(made, `?limit=200&${query}`)).map(({ after }) => after);
    expect(await found('action=run')).toHaveLength(200);
    expect(await found('channel=key&action=rerun')).toHaveLength(50);
    const since = new Date(start + 497_000).toISOString();
    expect(await found(`since=${since}`)).toEqual([500, 499, 498, 497]);
    expect(await found(`since=${since}&q=key`)).toEqual([500]);
    const { json } = await made.send({ path: `audit?since=${since}`, as: 'viewer' });
    expect(json).toMatchObject({ cursor: null });
    expect((await made.send({ path: 'audit?action=dance', as: 'viewer' })).status).toBe(400);
  });

  it('before it is made: what cannot be recorded is not changed', async () => {
    const made = await bench({ store: { writeAudit: () => Promise.reject(new StoreUnavailableError('503')) } });
    const refused = await made.send(pause);
    expect(refused.json).toMatchObject({ status: 503, code: 'NotRecorded' });
    expect(refused.headers).toMatchObject({ 'retry-after': '5' });
    expect((await made.send({ path: 'jobs/a', as: 'viewer' })).json).toMatchObject({ pause: null });
  });

  it('as begun, if its end cannot be recorded, and the answer shows that', async () => {
    let writes = 0;
    const inner: { write?: ManageBench['desk']['store']['writeAudit'] } = {};
    const made = await bench({
      store: {
        writeAudit: async (...args) => {
          writes += 1;
          if (writes % 2 === 0 || inner.write === undefined) throw new StoreUnavailableError('503');
          return inner.write(...args);
        },
      },
    });
    inner.write = made.sim.store.writeAudit;
    expect((await made.send(pause)).json).toMatchObject({ pause: { note: 'moving' }, recorded: false });
    expect(await audit(made)).toMatchObject([{ action: 'pause', state: 'begun', note: 'moving' }]);
  });

  it('as begun, if nobody knows what became of it', async () => {
    const made = await bench({ store: { writeControl: () => Promise.reject(new StoreUnavailableError('503')) } });
    expect((await made.send(pause)).json).toMatchObject({ status: 503, code: 'StoreUnavailable' });
    expect(await audit(made)).toMatchObject([{ action: 'pause', state: 'begun' }]);
  });

  it('as begun, if others were faster, perhaps after some of its steps', async () => {
    const made = await bench({ store: { writeControl: () => Promise.resolve('refused') } });
    expect((await made.send(pause)).json).toMatchObject({ status: 409, code: 'Contended' });
    const after = expect.stringContaining('keeps changing, because others write it') as unknown;
    expect(await audit(made)).toMatchObject([{ action: 'pause', state: 'begun', after }]);
  });

  it('as begun, if a job is forgotten, and others are faster only at the end', async () => {
    const made = await bench();
    made.sim.instances[0]?.kill();
    await made.sim.clock.advance(60_000);
    const store = intercepted(made.sim.store, 'release', () => () => Promise.resolve('lost'));
    const { clock } = made.sim;
    const acting = { store, clock, newId: () => crypto.randomUUID(), waiting: () => undefined, origin: ANN };
    const forgotten = operate(acting, 'forget', 'a', async () => {
      const answer = await forgetJob(acting, { job: 'a' as JobName, revision: 0, endRun: true });
      return { answer, after: answer };
    });
    await expect(forgotten).rejects.toMatchObject({ code: 'Contended' });
    expect((await made.sim.row('a')).forgotten).toBeDefined();
    expect(await audit(made)).toMatchObject([{ action: 'forget', state: 'begun' }]);
  });

  it('within the limits of storage, whatever it says', () => {
    const entry: AuditEntry = {
      at: Date.UTC(2026, 0, 1),
      origin: { actor: '漢'.repeat(500), channel: 'browser', note: '💣'.repeat(500) },
      ...{ action: 'rerun', target: 'x'.repeat(500), state: 'done' },
      before: { input: '漢'.repeat(9_000) },
      after: { input: '"\\'.repeat(9_000) },
    };
    const metadata = encodeAudit(entry);
    expect(() => checkMetadata(metadata)).not.toThrow();
    expect(decodeAudit(metadata)).toMatchObject({ at: entry.at, action: 'rerun', state: 'done' });
    expect(() => decodeAudit({ ...metadata, entry: '[]' })).toThrow('a list of one entry');
    expect(() => decodeAudit({ ...metadata, entry: '[{"at":1}]' })).toThrow('a list of known members');
  });

  it('and an entry that something else wrote hides no other', async () => {
    const made = await bench();
    await made.send(pause);
    await made.sim.store.writeAudit('0', { by: 'eve' }, undefined);
    const { json } = await made.send({ path: 'audit', as: 'viewer' });
    expect(json).toMatchObject({
      entries: [{ action: 'pause' }],
      problems: [expect.stringContaining('audit/0: ') as string],
    });
  });
});

describe('a run that was requested of another instance', () => {
  it('is waited for, and then shown, although the listing of this one is older', async () => {
    const made = await bench();
    made.sim.instances[0]?.pause();
    await made.send({ path: 'jobs', as: 'viewer' });
    // As the other instance makes the request: this one keeps its listing.
    const [id, time] = ['abcdefgh', made.sim.clock.now()];
    await made.sim.control('b', (control) => ({ ...control, manualRuns: [{ number: 1, id, time }] }));
    const ask = async (run: string): Promise<unknown> => (await made.send({ path: `runs/${run}`, as: 'viewer' })).json;
    const [runId, unknown] = ['abcdefgh', 'other'].map((one) => runIdOf('b' as JobName, recordKey(time, one)));
    expect(await ask(runId ?? '')).toMatchObject({ status: 404, code: 'RunRequested' });
    expect(await ask(unknown ?? '')).toMatchObject({ status: 404, code: 'UnknownRun' });
    const before = made.calls.get('list');
    expect(await ask('b-19990101T000000Z')).toMatchObject({ status: 404, code: 'UnknownRun' });
    expect(made.calls.get('list')).toBe(before);
    made.sim.instances[0]?.wake();
    await made.sim.clock.advance(20_000);
    expect(await ask(runId ?? '')).toMatchObject({ outcome: 'succeeded', trigger: 'manual' });
  });
});

describe('several jobs at once', () => {
  const send = async (made: ManageBench, path: string, body: object) => {
    const { json } = await made.send({ method: 'POST', path, body, as: 'operator' });
    return json as { done: { job: string }[]; refused: { job: string; code: string }[] };
  };

  it('are paused and resumed by name, tag or pattern, each with a record of its own', async () => {
    const made = await bench();
    await made.send(pause);
    const all = await send(made, 'pause', { pattern: '*', note: 'moving' });
    expect(all).toMatchObject({ done: [{ job: 'b' }], refused: [{ job: 'a', code: 'AlreadyPaused' }] });
    expect(await send(made, 'resume', { tag: 'none' })).toEqual({ done: [], refused: [] });
    const named = await send(made, 'resume', { jobs: ['b', 'a', 'b'], note: 'moved' });
    expect(named.done.map(({ job }) => job)).toEqual(['b', 'a']);
    expect(named.refused).toEqual([]);
    expect(await audit(made)).toHaveLength(5);
  });

  it('are planned work, which is shown until they are resumed', async () => {
    const made = await bench();
    const shown = async (): Promise<unknown> => {
      const { json } = await made.send({ path: 'jobs', as: 'viewer' });
      return (json as { maintenance: unknown }).maintenance;
    };
    const until = new Date(made.sim.clock.now() + 3_600_000).toISOString();
    await send(made, 'pause', { pattern: '*', note: 'new database', until });
    expect(await shown()).toMatchObject([{ by: 'of-operator', note: 'new database', jobs: '*', until }]);
    const { json } = await made.send({ path: 'jobs/a', as: 'viewer' });
    expect(json).toMatchObject({ pause: { until } });
    await send(made, 'resume', { pattern: '*' });
    expect(await shown()).toEqual([]);
    const past = { method: 'POST', path: 'jobs/a/pause', as: 'operator' } as const;
    const refused = await made.send({ ...past, body: { note: 'x', until: '2020-01-01T00:00:00Z' } });
    expect(refused).toMatchObject({ status: 400, json: { code: 'PastEnd' } });
    const tooLate = await made.send({ ...past, body: { note: 'x', until: '9999-12-31T00:00:00Z' } });
    expect(tooLate).toMatchObject({ status: 400, json: { code: 'EndTooLate' } });
    expect((await made.send({ path: 'jobs/a', as: 'viewer' })).json).toMatchObject({ pause: null });
  });

  it('end the planned work that is named, although one of its jobs is no longer paused', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const made = manageBench({ jobs: names.map((name) => jobSpec(name, '* * * * *')), deployments: 1 });
    await made.sim.clock.advance(20_000);
    await send(made, 'pause', { jobs: names, note: 'new database' });
    const words = 'a, b, c, d, e and 2 more';
    const works = async (): Promise<unknown> =>
      ((await made.send({ path: 'jobs', as: 'viewer' })).json as { maintenance: unknown }).maintenance;
    expect(await works()).toMatchObject([{ jobs: words }]);
    await send(made, 'jobs/g/resume', {});
    const resumed = await send(made, 'resume', { jobs: names.slice(0, 6), maintenance: words });
    expect(resumed).toMatchObject({ done: names.slice(0, 6).map((job) => ({ job })), refused: [] });
    expect(await works()).toEqual([]);
    expect(await audit(made, '?action=maintenance')).toMatchObject([
      {
        actor: 'of-operator',
        target: words,
        state: 'done',
        before: [{ note: 'new database', jobs: words }],
        after: [],
      },
    ]);
  });

  it('end the planned work that is named, although one of its jobs is gone', async () => {
    const made = await bench();
    const work = { by: 'ann', note: 'new database', until: undefined, jobs: 'a, gone' };
    await startMaintenance(made.sim.store, work);
    await made.send(pause);
    const jobs = ['a', 'gone'];
    expect(await send(made, 'resume', { jobs })).toMatchObject({ status: 404, code: 'UnknownJob' });
    const resumed = await send(made, 'resume', { jobs, maintenance: 'a, gone' });
    expect(resumed).toMatchObject({ done: [{ job: 'a' }], refused: [] });
    expect((await made.send({ path: 'jobs', as: 'viewer' })).json).toMatchObject({ maintenance: [] });
  });

  it.each([
    ['a*a*a*a', 'aaaa', true],
    ['a*a*a*a', 'aaa', false],
    ['*-b', 'a-b-b', true],
    ['a*b*', 'xab', false],
    ['ab*ba', 'aba', false],
    ['**', '', true],
    ['a', 'ab', false],
    ['*a'.repeat(31), 'a'.repeat(62) + 'b', false],
  ])('are chosen by the pattern "%s": %s, %s', (pattern, name, isChosen) => {
    expect(selects(pattern, name)).toBe(isChosen);
  });

  it('are refused without a choice, with two, or with an unknown name', async () => {
    const made = await bench();
    for (const body of [{ note: 'x' }, { note: 'x', tag: 'a', pattern: 'b' }, { note: 'x', pattern: '(a+)+$' }]) {
      expect(await send(made, 'pause', body)).toMatchObject({ status: 400 });
    }
    expect(await send(made, 'pause', { note: 'x', jobs: ['a', 'nope'] })).toMatchObject({ code: 'UnknownJob' });
    expect(await audit(made)).toEqual([]);
  });
});

describe('a request with an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'k-1' };
  const run: Sent = { method: 'POST', path: 'jobs/b/runs', body: { input: { n: 1 } }, as: 'operator', headers: key };
  const idOf = async ({ send }: ManageBench, sent: Sent): Promise<string> => {
    const { json, status } = await send(sent);
    expect([status, json]).toEqual([202, expect.anything() as unknown]);
    return (json as { runId: string }).runId;
  };

  it('is the same request again, while it waits, while it runs, and when it is over', async () => {
    const made = await bench();
    const first = await idOf(made, run);
    expect(await idOf(made, run)).toBe(first);
    await made.sim.clock.advance(30_000);
    expect(await idOf(made, run)).toBe(first);
    // The next change removes the entry of the request that was taken.
    await idOf(made, { ...run, headers: {} });
    await made.sim.clock.advance(30_000);
    await idOf(made, { ...run, headers: {} });
    expect(await idOf(made, run)).toBe(first);
    await made.sim.clock.advance(30_000);
    expect(made.sim.calls.filter(({ job }) => job === 'b')).toHaveLength(3);
  });

  it('is the same request again, although it names the version that the first one has changed', async () => {
    const made = await bench();
    const { json } = await made.send({ path: 'jobs/b', as: 'viewer' });
    const version = { 'if-match': `"${(json as { controlVersion: string }).controlVersion}"` };
    const first = await idOf(made, { ...run, headers: { ...key, ...version } });
    const again = await made.send({ ...run, headers: { ...key, ...version } });
    expect(again).toMatchObject({ status: 202, json: { runId: first, ahead: 0, seen: true, paused: false } });
    await made.sim.clock.advance(30_000);
    expect(await idOf(made, { ...run, headers: { ...key, ...version } })).toBe(first);
    const other = await made.send({ ...run, headers: { 'idempotency-key': 'k-2', ...version } });
    expect(other).toMatchObject({ status: 412, json: { code: 'Changed' } });
  });

  it('is one request if it is sent many times at once', async () => {
    const made = await bench();
    const ids = await Promise.all(Array.from({ length: 5 }, () => idOf(made, run)));
    expect(new Set(ids).size).toBe(1);
    await made.sim.clock.advance(30_000);
    expect(made.sim.calls.filter(({ job }) => job === 'b')).toHaveLength(1);
  });

  it('is made at last if the first answer was an error before anything was requested', async () => {
    let fails = true;
    const inner: { write?: ManageBench['desk']['store']['writeControl'] } = {};
    const made = await bench({
      store: {
        writeControl: async (...args) => {
          if (fails || inner.write === undefined) throw new StoreUnavailableError('503');
          return inner.write(...args);
        },
      },
    });
    inner.write = made.sim.store.writeControl;
    expect((await made.send(run)).status).toBe(503);
    fails = false;
    const id = await idOf(made, run);
    await made.sim.clock.advance(30_000);
    expect((await made.send({ path: `runs/${id}`, as: 'viewer' })).json).toMatchObject({ outcome: 'succeeded' });
  });

  it('runs at last, although it was refused for longer than a due time may wait', async () => {
    let finish = (): void => undefined;
    const handler = (): Promise<void> => new Promise((resolve) => (finish = resolve));
    const jobs = [jobSpec('b', '@manual', { catchUpWindowMs: 60_000 })];
    const made = manageBench({ jobs, handler, deployments: 1, sweepIntervalMs: 5_000 });
    await made.sim.clock.advance(20_000);
    await idOf(made, { ...run, headers: {} });
    await made.sim.clock.advance(10_000);
    expect((await made.send(run)).json).toMatchObject({ status: 409, code: 'RunGoesOn' });
    await made.sim.clock.advance(300_000);
    finish();
    await made.sim.clock.advance(10_000);
    const ids = [await idOf(made, run), await idOf(made, run)];
    await made.sim.clock.advance(10_000);
    finish();
    await made.sim.clock.advance(10_000);
    ids.push(await idOf(made, run));
    expect(new Set(ids).size).toBe(1);
    expect((await made.send({ path: `runs/${ids[0] ?? ''}`, as: 'viewer' })).json).toMatchObject({
      outcome: 'succeeded',
    });
    expect(made.sim.calls).toHaveLength(2);
  });

  it('is refused if the key named another request before', async () => {
    const made = await bench();
    await idOf(made, run);
    for (const other of [
      { ...run, body: { input: { n: 2 } } },
      { ...run, path: 'runs/a-20260101T000100Z/rerun' },
    ]) {
      expect((await made.send(other)).json).toMatchObject({ status: 422, code: 'KeyReused' });
    }
  });

  it("is another caller's own with the same key", async () => {
    const made = await bench();
    expect(await idOf(made, { ...run, as: 'admin' })).not.toBe(await idOf(made, run));
  });

  it('repeats an earlier run once', async () => {
    const made = await bench();
    const rerun = { ...run, path: 'runs/a-20260101T000100Z/rerun', body: {} };
    const first = await idOf(made, rerun);
    await made.sim.clock.advance(30_000);
    expect(await idOf(made, rerun)).toBe(first);
    expect((await made.send({ path: `runs/${first}`, as: 'viewer' })).json).toMatchObject({
      ...{ job: 'a', trigger: 'manual', rerunOf: '2026-01-01T00:01:00.000Z' },
      origin: { actor: 'of-operator', channel: 'key' },
    });
    expect((await made.send({ path: 'runs?job=a', as: 'viewer' })).json).toMatchObject({
      runs: expect.arrayContaining([
        expect.objectContaining({ runId: first, rerunOf: '2026-01-01T00:01:00.000Z' }),
      ]) as unknown,
    });
  });

  it.each(['', ' ', 'x'.repeat(201), 'a b', 'ä'])('is refused with the key "%s"', async (value) => {
    const made = await bench();
    const { json } = await made.send({ ...run, headers: { 'idempotency-key': value } });
    expect(json).toMatchObject({ status: 400, place: 'idempotency-key' });
  });
});

describe('an acknowledgement over HTTP', () => {
  const path = 'jobs/a/acknowledgement';
  async function failing(): Promise<ManageBench> {
    const jobs = [jobSpec('a', '* * * * *', { retry: { ...jobSpec('a', '@manual').retry, attempts: 1 } })];
    const handler = (): never => {
      throw new Error('a fault');
    };
    const made = manageBench({ jobs, handler, deployments: 1, sweepIntervalMs: 5_000 });
    await made.sim.clock.advance(125_000);
    return made;
  }

  it('is made, shown, replaced and removed, each on the version that was read', async () => {
    const made = await failing();
    const { json } = await made.send({ path: 'jobs/a', as: 'viewer' });
    const { controlVersion } = json as { controlVersion: string };
    expect(json).toMatchObject({ incident: { failures: 2, isWhole: true, acknowledgement: null } });
    const headers = { 'if-match': `"${controlVersion}"` };
    const body = { note: 'a new key', until: '2026-01-01T04:00:00+02:00' };
    const first = await made.send({ method: 'POST', path, body, headers, as: 'operator' });
    const acknowledgement = { by: 'of-operator', note: 'a new key', until: '2026-01-01T02:00:00.000Z' };
    expect(first).toMatchObject({ status: 200, json: { job: 'a', acknowledgement, recorded: true } });
    expect((await made.send({ method: 'POST', path, headers, as: 'operator' })).json).toMatchObject({
      ...{ status: 412, code: 'Changed' },
    });
    expect((await made.send({ method: 'DELETE', path, headers, as: 'operator' })).json).toMatchObject({ status: 412 });
    expect((await made.send({ path: 'jobs', as: 'viewer' })).json).toMatchObject({
      jobs: [{ incident: { acknowledgement } }],
    });
    await made.sim.clock.advance(1_000);
    expect((await made.send({ method: 'POST', path, as: 'admin' })).json).toMatchObject({
      acknowledgement: { by: 'of-admin', note: '', until: null },
    });
    await made.sim.clock.advance(1_000);
    const removed = await made.send({ method: 'DELETE', path, body: 'not read', as: 'admin' });
    expect(removed).toMatchObject({ status: 200, json: { acknowledgement: { by: 'of-admin' } } });
    expect((await made.send({ method: 'DELETE', path, as: 'admin' })).json).toMatchObject({ code: 'NotAcknowledged' });
    await made.sim.clock.advance(1_000);
    const seen = (await audit(made)).filter(({ state }) => state === 'done');
    expect(seen).toMatchObject([
      { action: 'unack', before: { by: 'of-admin', note: '' }, after: null },
      { action: 'ack', actor: 'of-admin', before: acknowledgement, after: { by: 'of-admin' } },
      { action: 'ack', note: 'a new key', target: 'a', after: acknowledgement },
    ]);
  });

  it('ends in the future, and has a short note', async () => {
    const made = await failing();
    const past = await made.send({ method: 'POST', path, body: { until: '2026-01-01T00:00:00Z' }, as: 'operator' });
    expect(past.json).toMatchObject({ status: 400, code: 'PastEnd' });
    for (const body of [{ note: 'x'.repeat(201) }, { note: ' ' }, { until: 'tomorrow' }, { by: 'me' }]) {
      expect((await made.send({ method: 'POST', path, body, as: 'operator' })).json).toMatchObject({ status: 400 });
    }
  });
});

describe('a back-fill over HTTP', () => {
  const path = 'jobs/a/backfill';
  const from = '2026-01-01T00:01:00Z';

  it('shows its dry run, starts, shows how far it is, and is recorded', async () => {
    const made = await bench();
    const plan = await made.send({ path: `${path}/plan?from=${from}&includeSucceeded=true`, as: 'viewer' });
    expect(plan).toMatchObject({ status: 200, json: { running: 2, skipped: 0, complete: true } });
    const none = await made.send({ path: `${path}/plan?from=${from}`, as: 'viewer' });
    expect(none.json).toMatchObject({ running: 0, dueTimes: [{ outcome: 'succeeded', runs: false }, { runs: false }] });
    expect((await made.send({ path, as: 'viewer' })).json).toEqual({ job: 'a', backfill: null });
    const body = { from, includeSucceeded: true, limit: 1, note: 'new rates' };
    const started = await made.send({ method: 'POST', path, body, as: 'operator' });
    expect(started).toMatchObject({ status: 202, json: { running: 1, paused: false, recorded: true } });
    await made.sim.clock.advance(20_000);
    const origin = { actor: 'of-operator', channel: 'key', note: 'new rates' };
    expect((await made.send({ path, as: 'viewer' })).json).toMatchObject({
      backfill: { state: 'done', dueTimes: 1, left: 0, outcomes: { succeeded: 1 }, origin, runId: null },
    });
    const runs = await made.send({ path: 'runs?trigger=backfill', as: 'viewer' });
    expect(runs.json).toMatchObject({
      runs: [{ scheduledFor: '2026-01-01T00:01:00.000Z', trigger: 'backfill', latenessMs: null, origin }],
    });
    expect((await made.send({ method: 'DELETE', path, as: 'operator' })).json).toMatchObject({ code: 'NoBackfill' });
    expect(await audit(made)).toMatchObject([
      { action: 'backfill', state: 'refused' },
      { action: 'backfill', target: 'a', state: 'done', note: 'new rates', after: { running: 1 } },
    ]);
  });

  it('can be stopped, and refuses a span in the future', async () => {
    const made = await bench();
    await made.send(pause);
    await made.send({ method: 'POST', path, body: { from, includeSucceeded: true }, as: 'operator' });
    const stopped = await made.send({ method: 'DELETE', path, as: 'operator' });
    expect(stopped).toMatchObject({ status: 200, json: { job: 'a', recorded: true } });
    expect((await made.send({ path, as: 'viewer' })).json).toMatchObject({ backfill: { state: 'stopped', left: 2 } });
    const ahead = { from, to: '2027-01-01T00:00:00Z' };
    expect((await made.send({ method: 'POST', path, body: ahead, as: 'operator' })).json).toMatchObject({
      ...{ status: 400, code: 'FutureTime' },
    });
  });
});
