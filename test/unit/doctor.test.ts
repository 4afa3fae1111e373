import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId, Token } from '../../src/core/brand';
import { encodeFleet, FLEET } from '../../src/core/fleet';
import { recordKey } from '../../src/core/key';
import { type Presence, encodePresence, jobsHash } from '../../src/core/presence';
import { type Row, encodeRow, forgottenRow, newRow } from '../../src/core/row';
import { type LeaseStore, StoreDeniedError, type StoreError, StoreUnavailableError } from '../../src/lease/store';
import type { Trial, TrialStep } from '../../src/lease/trial';
import { type FileSeen, diagnose } from '../../src/operator/doctor/diagnose';
import type { Finding } from '../../src/operator/doctor/finding';
import { remediesFor } from '../../src/stores/azure-blob/trial';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';
import { cordonDeployment } from '../support/by-operator';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 12);
const clock = settableClock(T0);

const WELL: Trial = {
  ...{ container: 'there', failures: new Map(), untried: [], versioned: false },
  nouns: { object: 'blob', place: 'container' },
  ...{ answeredInMs: 12, skewMs: 300, left: undefined },
  remedies: remediesFor('https://acme.blob.core.windows.net/cronlease', undefined),
};
const JOB = jobSpec('a', '@hourly');

function fileOf(jobs = [JOB], revision = 3): FileSeen {
  return { kind: 'read', source: 'jobs.json', file: { revision, jobs } };
}

function presence(changes: Partial<Presence> = {}): Presence {
  return {
    ...{ instance: 'one', hub: 'east in account', version: '0.1.0', revision: 3, jobs: jobsHash([JOB]) },
    ...{ tickedAt: T0 - MINUTE, tickEveryMs: 15_000, skewMs: 0, rival: undefined, hubProven: true },
    ...changes,
  };
}

function rowOf(changes: Partial<Row> = {}): Row {
  return { ...newRow(T0, 3, JOB.scheduleHash), ...changes };
}

/** The row of a run that began a while ago. */
function running(ago: number, changes: Partial<Row> = {}): Row {
  const started = T0 - ago;
  const run = { key: recordKey(started), scheduledFor: started, trigger: 'schedule', since: started } as const;
  return rowOf({ run, phase: 'running', attempt: 1, token: 1 as Token, started, incumbent: 'east', ...changes });
}

interface Scene {
  readonly rows?: Readonly<Record<string, Row | Readonly<Record<string, string>>>>;
  readonly held?: readonly string[];
  readonly presences?: Readonly<Record<string, Presence | Readonly<Record<string, string>>>>;
  readonly file?: FileSeen;
  readonly trial?: Partial<Trial>;
  readonly besides?: (store: LeaseStore) => Promise<unknown>;
  /** No one can break a lease in this store. */
  readonly unbreakable?: boolean;
}

/** What is not well, or everything about one check. */
async function found(scene: Scene, check?: Finding['check']): Promise<readonly Finding[]> {
  const store = memoryService(clock).open();
  for (const [job, row] of Object.entries(scene.rows ?? { a: rowOf() })) {
    const name = job as JobName;
    await store.createRow(
      name,
      'token' in row && typeof row.token === 'number' ? encodeRow(row as Row) : (row as Record<string, string>),
    );
    const ifMatch = (await store.readRow(name))?.etag;
    if (ifMatch === undefined || scene.held?.includes(job) !== true) continue;
    await store.acquire(name, { leaseId: crypto.randomUUID() as LeaseId, leaseMs: 30_000, ifMatch });
  }
  for (const [name, said] of Object.entries(scene.presences ?? { east: presence() })) {
    await store.writePresence(name, 'tickedAt' in said ? encodePresence(said as Presence) : said, undefined);
  }
  await scene.besides?.(store);
  const { breakLease: _, ...unbreakable } = store;
  const seen = scene.unbreakable === true ? unbreakable : store;
  const findings = await diagnose(
    seen,
    [{ location: seen.location, trial: { ...WELL, ...scene.trial } }],
    scene.file ?? fileOf(),
  );
  for (const { status, remedy } of findings) expect(remedy === null).toBe(status === 'ok');
  return findings.filter((finding) => (check === undefined ? finding.status !== 'ok' : finding.check === check));
}

describe('doctor', () => {
  it.each([
    [
      true,
      /^instances delete records and logs after the "keep" of their job \(\w+\), with one listing a day\. A lifecycle/,
    ],
    [undefined, /, once an hour$/],
  ])('says what deletes old records (daily: %s)', async (purgesDaily, message) => {
    const store = { ...memoryService(clock).open(), purge: () => Promise.resolve('done' as const) };
    const purging = purgesDaily === undefined ? store : { ...store, purgesDaily: true as const };
    const findings = await diagnose(purging, [{ location: store.location, trial: WELL }], fileOf());
    expect(findings.filter(({ check }) => check === 'retention')).toEqual([
      {
        check: 'retention',
        status: 'ok',
        subject: null,
        message: expect.stringMatching(message) as string,
        remedy: null,
      },
    ]);
  });

  it('has one line for each check, and no more, where all is well', async () => {
    expect(await found({})).toEqual([]);
    const store = memoryService(clock).open();
    await store.createRow(JOB.name, encodeRow(rowOf()));
    await store.writePresence('east', encodePresence(presence()), undefined);
    const findings = await diagnose(store, [{ location: store.location, trial: WELL }], fileOf());
    expect(findings.map(({ check }) => check)).toEqual([
      ...['storage', 'clock', 'permissions', 'versioning', 'file', 'metadata', 'orphans', 'unseen', 'revision'],
      ...['leases', 'waiting', 'due', 'deployments', 'names', 'hubs', 'skew', 'load', 'versions', 'cordons'],
    ]);
    expect(findings.at(12)).toMatchObject({
      ...{
        subject: 'east',
        message: 'reported a tick 1m ago: cronlease 0.1.0, revision 3, task hub east in account',
      },
    });
  });

  it('names each cordon, and warns where no live deployment may claim', async () => {
    const ann = { by: 'ann', note: 'new disk' };
    const presences = { east: presence(), west: presence({ hub: 'west in account' }) };
    const one = await found({ presences, besides: (store) => cordonDeployment(store, 'east', ann) });
    expect(one).toMatchObject([
      {
        check: 'cordons',
        status: 'warning',
        subject: 'east',
        remedy: expect.stringContaining('uncordon east') as unknown,
      },
    ]);
    expect(one[0]?.message).toBe('claims nothing new, since 2026-01-01T12:00:00.000Z by ann: new disk');
    const both = async (store: LeaseStore): Promise<void> => {
      for (const name of ['east', 'west']) await cordonDeployment(store, name, ann);
    };
    expect((await found({ presences, besides: both })).map(({ subject, message }) => [subject, message])).toEqual([
      [null, 'every live deployment is cordoned: nothing runs'],
      ['east', expect.anything()],
      ['west', expect.anything()],
    ]);
  });

  it('names the cordon of a deployment that is gone, and a record of cordons that cannot be read', async () => {
    const cordons = [{ deployment: 'gone', by: 'ann', note: 'n', since: T0 }];
    const write = (metadata: Readonly<Record<string, string>>) => (store: LeaseStore) =>
      store.writeControl(FLEET, metadata, undefined);
    expect(await found({ besides: write(encodeFleet({ cordons, maintenance: [] })) })).toMatchObject([
      { subject: 'gone', message: expect.stringContaining('has not ticked in the last week') as unknown },
    ]);
    expect(await found({ besides: write({ format: '9' }) })).toMatchObject([
      { check: 'metadata', status: 'problem', subject: 'jobs/-fleet/control' },
    ]);
  });

  it('tells storage that does not answer from one that refuses, or has no container', async () => {
    const down = new Map([['list', new StoreUnavailableError('no answer')]] as const);
    const unreachable = await found({ trial: { container: 'unknown', failures: down } });
    expect(unreachable).toMatchObject([{ check: 'storage', status: 'problem', message: 'no answer' }]);
    const denied = new Map([['list', new StoreDeniedError('403')]] as const);
    const refused = await found({
      trial: { container: 'unknown', failures: denied, untried: ['lease'], skewMs: undefined },
    });
    expect(refused.map(({ check, status }) => `${check} ${status}`)).toEqual(['clock warning', 'permissions problem']);
    expect(refused[1]?.message).toBe('may not list blobs (not tried because of that: lease blobs): 403');
    const none = await found({ trial: { container: 'missing' } });
    expect(none).toMatchObject([
      { check: 'storage', status: 'problem', message: 'memory answers, but there is no such container' },
    ]);
  });

  it('says which permission is missing, what is left, and what versions cost', async () => {
    const failures = new Map([['delete', new StoreDeniedError('403 no delete')]] as const);
    const findings = await found({ trial: { failures, left: 'doctor/x', versioned: true, skewMs: -90_400 } });
    expect(findings.map(({ check, status, message }) => [check, status, message])).toEqual([
      ['clock', 'warning', "this machine's clock is 1m30s behind the service's"],
      ['permissions', 'problem', 'may not delete blobs; the blob doctor/x remains: 403 no delete'],
      ['versioning', 'warning', expect.stringContaining('keeps a version')],
    ]);
    const unseen = await found(
      { trial: { failures: new Map([['create', new StoreDeniedError('403')]] as const) } },
      'versioning',
    );
    expect(unseen).toMatchObject([{ status: 'warning' }]);
  });

  it('mentions no permissions where the service cannot do what it may', async () => {
    const full = new StoreUnavailableError(
      'etcdserver: mvcc: database space exceeded. The database is full: compact it.',
    );
    const failures = new Map([['create', full]] as const);
    const findings = await found({ trial: { failures, untried: ['lease'] } }, 'storage');
    expect(findings).toMatchObject([
      { status: 'ok' },
      {
        status: 'problem',
        message: expect.stringMatching(/cannot create blobs \(not tried .*: lease blobs\): etcdserver.* compact it/),
        remedy: expect.stringContaining('does not concern rights'),
      },
    ]);
    expect(await found({ trial: { failures } }, 'permissions')).toEqual([]);
    const both = new Map<TrialStep, StoreError>([
      ['create', full],
      ['delete', new StoreDeniedError('403 no delete')],
    ]);
    expect(await found({ trial: { failures: both } }, 'permissions')).toMatchObject([
      { status: 'problem', message: 'may not delete blobs: 403 no delete' },
    ]);
  });

  it('goes without a jobs file, and says what it could not look at', async () => {
    const none = await found({ file: { kind: 'none', reason: 'there is none' }, rows: { other: rowOf() } });
    expect(none).toMatchObject([{ check: 'file', status: 'warning' }]);
    expect(await found({ file: { kind: 'wrong', reason: 'x' } })).toMatchObject([{ check: 'file', status: 'problem' }]);
  });

  it('tells rows without a job, and jobs without a row, but nothing of those that were forgotten', async () => {
    const gone = forgottenRow(rowOf(), T0);
    const file = fileOf([jobSpec('new', '@hourly'), jobSpec('back', '@hourly')]);
    const findings = await found({ rows: { a: rowOf(), gone, back: gone }, file, presences: {} });
    expect(findings.map(({ check, subject, remedy }) => [check, subject, remedy])).toEqual([
      ['orphans', 'a', 'deploy the file that has it, or run "cronlease forget a"'],
      ['unseen', 'new', 'deploy the file, and check that its deployment ticks'],
      ['unseen', 'back', 'deploy the file, and check that its deployment ticks'],
      ['deployments', null, 'deploy one, or start one that is stopped'],
    ]);
  });

  it('finds the records of a deleted row behind a page that is empty and not the last one', async () => {
    const besides = async (store: LeaseStore): Promise<void> => {
      await store.createRecord(JOB.name, '8232702800000-s', { body: '{}', summary: { state: 'final', token: '7' } });
      const { listRecords } = store;
      const listed: LeaseStore['listRecords'] = async (job, page) =>
        page.continuation === undefined
          ? { records: [], continuation: 'next' }
          : listRecords(job, { limit: page.limit });
      Object.assign(store, { listRecords: listed });
    };
    expect(await found({ rows: {}, besides }, 'unseen')).toMatchObject([{ status: 'problem', subject: 'a' }]);
  });

  it('tells a job that is new from one whose row was deleted', async () => {
    const besides = (store: LeaseStore): Promise<unknown> =>
      store.createRecord(JOB.name, '8232702800000-s', { body: '{}', summary: { state: 'final', token: '7' } });
    expect(await found({ rows: {}, besides }, 'unseen')).toMatchObject([
      {
        ...{ status: 'problem', subject: 'a' },
        message: expect.stringMatching(/^has records, but no row: the row was deleted/) as unknown,
        remedy: expect.stringContaining('cronlease runs a') as unknown,
      },
    ]);
    expect(await found({ rows: {} }, 'unseen')).toMatchObject([{ status: 'warning', subject: 'a' }]);
  });

  it('names blobs that are not cronlease’s', async () => {
    const findings = await found({
      rows: { a: { format: '9' } },
      presences: { east: presence(), odd: { format: '9' } },
      besides: (store) => store.writeControl('b' as JobName, { pauses: 'x', format: '1' }, undefined),
      file: fileOf([JOB]),
    });
    expect(findings.map(({ check, status, subject }) => [check, status, subject])).toEqual([
      ['metadata', 'problem', 'jobs/a/lease'],
      ['metadata', 'problem', 'jobs/b/control'],
      ['metadata', 'problem', 'deployments/odd'],
    ]);
  });

  it('names blobs that lie beside cronlease’s own, and what they do to others', async () => {
    const strays = { count: 12, names: ['jobs/a/x', 'jobs/evil'], harmful: ['jobs/evil'] };
    const findings = await found({
      besides: async (store) => {
        const { list, listPresences } = store;
        store.list = async (options) => ({ ...(await list(options)), strays });
        const odd = { count: 1, names: ['deployments/%zz'], harmful: [] };
        store.listPresences = async (options) => ({ ...(await listPresences(options)), strays: odd });
      },
    });
    expect(findings.map(({ status, subject, message }) => [status, subject, message.slice(0, 38)])).toEqual([
      ['warning', 'jobs/', 'jobs/a/x, jobs/evil and 10 others are '],
      ['problem', 'jobs/evil', 'its metadata has a key that breaks lis'],
      ['warning', 'deployments/', 'deployments/%zz is a blob that cronlea'],
    ]);
  });

  it('names "cronlease unlock" only where a lease can be broken', async () => {
    const scene = { rows: { a: running(9 * 3_600_000) }, held: ['a'] };
    expect(await found(scene, 'leases')).toMatchObject([{ remedy: expect.stringContaining('unlock a') as unknown }]);
    const remedy = 'check what east does; to let another instance take over, stop that instance';
    expect(await found({ ...scene, unbreakable: true }, 'leases')).toMatchObject([{ remedy }]);
  });

  it('finds leases that are held for longer than the job may take', async () => {
    const limit = (JOB.timeoutMs ?? 0) + JOB.graceMs + JOB.leaseMs;
    const held = ['a'];
    expect(await found({ rows: { a: running(limit) }, held })).toEqual([]);
    const late = running(limit + 1_000);
    expect(await found({ rows: { a: late }, held })).toMatchObject([
      {
        check: 'leases',
        status: 'problem',
        subject: 'a',
        remedy: expect.stringContaining('cronlease unlock a') as unknown,
      },
    ]);
    // The hand-over of the next run shows the last one.
    const settled = (store: LeaseStore): Promise<unknown> =>
      store.createRecord(JOB.name, late.run?.key ?? '', {
        body: JSON.stringify({ job: 'a', scheduledFor: new Date(T0).toISOString(), state: 'final', attempts: [] }),
        summary: {},
      });
    expect(await found({ rows: { a: late }, held, besides: settled })).toEqual([]);
    const leader = jobSpec('a', '@always');
    const rows = { a: running(9 * 3_600_000, { scheduleHash: leader.scheduleHash }) };
    expect(await found({ rows, held, file: fileOf([leader]) }, 'leases')).toMatchObject([{ status: 'ok' }]);
    const broken = async (store: LeaseStore): Promise<void> => {
      const row = await store.readRow(JOB.name);
      if (row !== undefined) await store.breakLease?.(JOB.name, row.etag);
    };
    expect(await found({ rows: { a: running(1_000) }, held, besides: broken })).toMatchObject([
      {
        check: 'leases',
        status: 'warning',
        message: 'its lease is being broken',
        remedy: expect.stringContaining('(33s)') as unknown,
      },
    ]);
  });

  it('lets a job of a group hold its lease while it may wait for its place', async () => {
    const group = { name: 'db', maxParallel: 1 };
    const grouped = jobSpec('a', '@hourly', { group, catchUpWindowMs: 30 * MINUTE, timeoutMs: 10 * MINUTE });
    const after = (minutes: number) =>
      found({ file: fileOf([grouped]), rows: { a: running(minutes * MINUTE) }, held: ['a'] }, 'leases');
    expect(await after(38)).toMatchObject([{ status: 'ok' }]);
    expect(await after(42)).toMatchObject([{ status: 'problem', subject: 'a' }]);
  });

  it('finds runs that wait for too long, and due times that nobody takes', async () => {
    const waiting = (ago: number): Row => running(600_000, { phase: 'retrying', notBefore: T0 - ago });
    expect(await found({ rows: { a: waiting(2 * MINUTE) } })).toEqual([]);
    expect(await found({ rows: { a: waiting(4 * MINUTE) } })).toMatchObject([{ check: 'waiting', status: 'problem' }]);
    const drained = running(600_000, { phase: 'retrying', notBefore: 0 });
    expect(await found({ rows: { a: drained } })).toMatchObject([{ check: 'waiting', status: 'problem' }]);
    const behind = rowOf({ cursor: T0 - 3_600_001 });
    expect(await found({ rows: { a: behind } })).toMatchObject([
      {
        check: 'due',
        status: 'warning',
        message: 'was due at 2026-01-01T11:00:00Z, and has not been claimed',
      },
    ]);
  });

  it('leaves a due time alone for as long as it may wait for required jobs', async () => {
    const requires = ['b' as JobName];
    const waiting = jobSpec('a', '@hourly', { requires, requireWithinMs: 30 * MINUTE });
    const after = (minutes: number) => {
      const row = rowOf({ cursor: T0 - minutes * MINUTE - 3_600_000 });
      return found({ file: fileOf([{ ...waiting, offsetMs: (60 - minutes) * MINUTE }]), rows: { a: row } }, 'due');
    };
    expect(await after(29)).toMatchObject([{ status: 'ok' }]);
    expect(await after(34)).toMatchObject([{ status: 'warning', subject: 'a' }]);
  });

  it('compares the rows with the revision of the file', async () => {
    const status = async (revision: number, hash: string): Promise<unknown> =>
      (await found({ rows: { a: rowOf({ revision, scheduleHash: hash }) } }, 'revision')).map(
        (finding) => finding.status,
      );
    expect(await status(3, JOB.scheduleHash)).toEqual(['ok']);
    expect(await status(2, JOB.scheduleHash)).toEqual(['ok']);
    // A package's revision is the time of its build.
    expect(await status(4, JOB.scheduleHash)).toEqual(['ok']);
    expect(await status(4, 'other')).toEqual(['problem']);
    expect(await status(3, 'other')).toEqual(['problem']);
    expect(await status(2, 'other')).toEqual(['warning']);
  });
});

describe('doctor, of deployments', () => {
  it('finds those that share a task hub or a name', async () => {
    const rival = { instance: 'two', hub: 'west in account' };
    const findings = await found({
      presences: { east: presence({ rival }), west: presence(), old: presence({ tickedAt: T0 - 12 * MINUTE }) },
    });
    expect(findings.map(({ check, status, subject }) => [check, status, subject])).toEqual([
      ['deployments', 'warning', 'old'],
      ['names', 'problem', 'east'],
      ['hubs', 'problem', 'east, west'],
    ]);
    expect(findings[1]?.message).toContain('one and two, one of them with task hub west in account');
  });

  it('names one that is late, and one that is silent', async () => {
    const at = (seconds: number) => presence({ tickedAt: T0 - seconds * 1000, hub: String(seconds) });
    const findings = await found({ presences: { live: at(100), late: at(110), silent: at(125) } });
    expect(findings.map(({ subject, message }) => [subject, message.slice(0, 59)])).toEqual([
      ['late', 'is late, because it has not reported a tick for 1m50s: cron'],
      ['silent', 'is silent, because it has not reported a tick for 2m5s: cro'],
    ]);
  });

  it('skips one that has been gone for a week, and one whose hub is not known', async () => {
    const gone = presence({ tickedAt: T0 - 8 * 24 * 3_600_000 });
    const unknown = presence({ hub: undefined });
    expect(await found({ presences: { gone, east: presence(), one: unknown, two: unknown } })).toEqual([]);
  });

  it('tells which deployments are overloaded, and what they lack', async () => {
    const findings = await found({
      presences: { a: presence({ hub: 'a', shortOf: 'cpu' }), b: presence({ hub: 'b', shortOf: 'storage' }) },
    });
    expect(findings.map(({ check, subject, message }) => `${check} ${String(subject)}: ${message}`)).toEqual([
      'load a: most of its runs start late, because its process has no CPU time left',
      'load b: most of its runs start late, because storage answers its writes slowly',
    ]);
  });

  it('tells clocks, versions, revisions and files that differ', async () => {
    const findings = await found({
      presences: {
        a: presence({ hub: 'a', skewMs: 3_000 }),
        b: presence({ hub: 'b', version: '0.2.0', jobs: 'other' }),
        c: presence({ hub: 'c', revision: 4, skewMs: -61_000, jobs: 'newer' }),
      },
    });
    expect(findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      ...[
        'skew warning',
        'skew warning',
        'versions warning',
        'versions warning',
        'versions warning',
        'versions warning',
      ],
    ]);
    expect(findings.map(({ message }) => message)).toEqual([
      "its clock is 3s ahead of the service's, and the deployment corrects it",
      "its clock is 1m1s behind the service's, and the deployment corrects it",
      'they run cronlease 0.1.0 (a and c), 0.2.0 (b)',
      'they run revisions 3 (a and b), 4 (c)',
      'a and b run different jobs files, which have the same revision 3',
      'b and c run another jobs file than this one',
    ]);
  });
});
