import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobName, LeaseId, Token } from '../../src/core/brand';
import { decodeAudit } from '../../src/core/audit';
import { type Control, decodeControl } from '../../src/core/control';
import { recordKey } from '../../src/core/key';
import {
  type AttemptRecord,
  type LedgerRecord,
  finalRecord,
  openRecord,
  storeRecord,
  stretchRecord,
} from '../../src/core/record';
import { type Row, encodeRow, newRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';
import { jobSpec } from '../support/job';
import { copyApp } from '../support/local-build';

const MINUTE = 60_000;
/** The last full minute: what the fixtures are around. */
const MARK = Math.floor(Date.now() / MINUTE) * MINUTE;

let azurite: Azurite;
let folder: CliFolder;
let store: LeaseStore;
const HOLDER = crypto.randomUUID() as LeaseId;

const iso = (instant: number): string => new Date(instant).toISOString();
const inFolder = (args: readonly string[]): Promise<Ended> => folder.run(args);
const onStorage = (...args: readonly string[]): Promise<Ended> =>
  folder.run([...args, '--container', 'cli'], { CRONLEASE_STORAGE: azurite.connectionString });

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli');
  store = azureBlobStore({ container, clock: systemClock });
  await store.prepare();
});

afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

/** The JSON of `runs`. */
interface RunList<Run = object> {
  readonly runs: readonly Run[];
  readonly cursor: string | null;
}

const MINUTELY = jobSpec('minutely', '* * * * *');

function runRow(scheduledFor: number, changes: Partial<Row> = {}): Row {
  const run = { key: recordKey(scheduledFor), scheduledFor, trigger: 'schedule', since: scheduledFor - 5_000 } as const;
  return {
    ...newRow(scheduledFor, 1, MINUTELY.scheduleHash),
    ...{ run, phase: 'running', attempt: 1, token: 7 as Token, started: scheduledFor, incumbent: 'east' },
    ...changes,
  };
}

function attempt(number: number, at: number, outcome: AttemptRecord['outcome']): AttemptRecord {
  const error =
    outcome === 'failed' ? { name: 'TypeError', message: 'boom\nsecond line', stack: 'TypeError: boom' } : null;
  const times = { startedAt: iso(at), endedAt: iso(at + 1_500) };
  return { attempt: number, token: 6 + number, deployment: 'east', ...times, outcome, error };
}

async function addRecord(job: string, key: string, record: LedgerRecord): Promise<void> {
  await store.createRecord(job as JobName, key, storeRecord(record));
}

async function addRow(
  job: string,
  row: Row,
  lease: 'available' | 'held' = 'available',
  to: LeaseStore = store,
): Promise<void> {
  await to.createRow(job as JobName, encodeRow(row));
  if (lease === 'held') await hold(job, to);
}

/** Takes the row's lease, or takes it again: on a busy machine the commands before take longer than the lease. */
async function hold(job: string, to: LeaseStore = store): Promise<void> {
  const name = job as JobName;
  const ifMatch = (await to.readRow(name))?.etag;
  if (ifMatch === undefined) throw new Error(`no row of ${job}`);
  const taken = await to.acquire(name, { leaseId: HOLDER, leaseMs: 60_000, ifMatch });
  expect(taken.kind).toBe('acquired');
}

async function controlOf(job: string): Promise<Control | undefined> {
  const { control } = await store.readControl(job as JobName);
  return control && decodeControl(control.metadata);
}

describe.concurrent('runs and why', () => {
  const first = MARK - 20 * MINUTE;
  const run = first + 6 * MINUTE;

  beforeAll(async () => {
    const stretch = {
      outcome: 'paused',
      reason: 'paused',
      from: first,
      through: first + 5 * MINUTE,
      count: 6,
    } as const;
    const paused = stretchRecord(MINUTELY.name, stretch);
    await addRecord('minutely', paused.key, paused.record);
    const attempts = [attempt(1, run + 5, 'failed'), attempt(2, run + 9_000, 'failed')];
    const end = { outcome: 'failed', reason: 'handlerError', at: run + 10_500 } as const;
    await addRecord('minutely', recordKey(run), finalRecord(MINUTELY, runRow(run), attempts, end));
    // The last run was tried once, and is being tried again by another one.
    const past = [
      { ...{ attempt: 1, token: 8, deployment: 'west' }, start: MARK, end: undefined, outcome: 'holderLost' },
    ];
    const row = runRow(MARK, { token: 9 as Token, attempt: 2, past: past as Row['past'] });
    await addRow('minutely', row, 'held');
    await addRecord('minutely', recordKey(MARK), openRecord(MINUTELY, row, []));
    const nightly = Date.UTC(2026, 2, 29, 1);
    const ran = { outcome: 'succeeded', reason: 'completed', at: nightly + 2_000, result: { rows: 3 } } as const;
    const record = finalRecord(jobSpec('nightly', '@daily'), runRow(nightly), [attempt(1, nightly, 'succeeded')], ran);
    await addRecord('nightly', recordKey(nightly), record);
    await addRow('nightly', { ...newRow(MARK, 1, 'h'), cursor: nightly });
  });

  it('print the ledger, newest first', async () => {
    const { runs: records } = await folder.json<RunList<Record<string, unknown>>>(
      onStorage('runs', 'minutely', '--json'),
    );
    expect(records.map(({ scheduledFor, outcome }) => [scheduledFor, outcome])).toEqual([
      [iso(MARK), 'running'],
      [iso(run), 'failed'],
      [iso(first), 'paused'],
    ]);
    expect(records[1]).toMatchObject({
      ...{ job: 'minutely', reason: 'handlerError', trigger: 'schedule', token: 7, latenessMs: 5 },
      ...{ startedAt: iso(run + 5), endedAt: iso(run + 10_500) },
      attempts: [
        { attempt: 1, token: 7, deployment: 'east', outcome: 'failed', error: { message: 'boom\nsecond line' } },
        { attempt: 2, startedAt: iso(run + 9_000), endedAt: iso(run + 10_500) },
      ],
    });
    expect(records[2]).toMatchObject({ through: iso(first + 5 * MINUTE), count: 6, attempts: [], token: null });
    const all = await folder.json<RunList<{ job: string }>>(onStorage('runs', '--limit', '4', '--json'));
    expect(all.runs.map(({ job }) => job)).toEqual(['minutely', 'minutely', 'minutely', 'nightly']);
    const one = await folder.json<RunList>(onStorage('runs', '--limit', '1', '--json'));
    expect(one.runs).toHaveLength(1);
    const next = await folder.json<RunList<{ outcome: string }>>(
      onStorage('runs', '--limit', '1', '--json', '--cursor', one.cursor ?? ''),
    );
    expect(next.runs.map(({ outcome }) => outcome)).toEqual(['failed']);
    expect(all.cursor).toBeNull();
  });

  it('print the ledger for people', async () => {
    const { stdout } = await onStorage('runs', 'minutely');
    expect(stdout).toMatch(/^JOB +DUE +OUTCOME +LATE +TOOK +BY +NOTES\nminutely +\S+Z +running +east +attempt 2\n/);
    expect(stdout).toMatch(/failed +5 ms +3 s +east +handlerError, attempt 2\n {4}TypeError: boom\n/);
    expect(stdout).toContain(`6 due times through ${iso(first + 5 * MINUTE).replace('.000', '')}`);
    const all = await onStorage('runs');
    expect(all.stdout).toMatch(/^nightly +2026-03-29T01:00:00Z +succeeded/m);
  });

  it('print the runs that a filter selects, and where to continue', async () => {
    const outcomes = async (...args: readonly string[]): Promise<readonly string[]> => {
      const { runs } = await folder.json<RunList<{ outcome: string }>>(onStorage('runs', ...args, '--json'));
      return runs.map(({ outcome }) => outcome);
    };
    expect(await outcomes('minutely', '--failed')).toEqual(['failed']);
    expect(await outcomes('minutely', '--outcome', 'running,paused')).toEqual(['running', 'paused']);
    expect(await outcomes('minutely', '--since', iso(run - 30_000), '--until', iso(MARK))).toEqual(['failed']);
    expect(await outcomes('minutely', '--until', iso(run))).toEqual(['paused']);
    expect(await onStorage('runs', '--failed', '--until', '2020-01-01')).toMatchObject({ stdout: 'No such run.\n' });
    const page = await onStorage('runs', 'minutely', '--limit', '1');
    expect(page.stdout).toMatch(/\nFor older ones, add: --cursor minutely\/\d{13}-s\n$/);
  });

  it('show times in UTC, or in the zone of this machine', async () => {
    const env = { CRONLEASE_STORAGE: azurite.connectionString, TZ: 'America/St_Johns' };
    const { stdout } = await folder.run(['runs', '--local', '--container', 'cli'], env);
    expect(stdout).toMatch(/^nightly +2026-03-28T22:30:00-02:30 +succeeded/m);
    const both = await onStorage('runs', '--utc', '--local');
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("'--utc'") as unknown });
  });

  it('show what runs, also in its first attempt, of which the ledger has nothing yet', async () => {
    const due = Date.UTC(2026, 3, 1);
    const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli-now');
    const other = azureBlobStore({ container, clock: systemClock });
    await other.prepare();
    await addRow('first-attempt', runRow(due, { started: due + 400 }), 'held', other);
    const env = { CRONLEASE_STORAGE: azurite.connectionString };
    const { runs: listed } = await folder.json<RunList>(folder.run(['runs', '--json', '--container', 'cli-now'], env));
    const [record] = listed;
    expect(record).toMatchObject({
      ...{ job: 'first-attempt', state: 'open', outcome: 'running', scheduledFor: iso(due), startedAt: iso(due + 400) },
      attempts: [
        { attempt: 1, token: 7, deployment: 'east', startedAt: iso(due + 400), endedAt: null, outcome: 'running' },
      ],
    });
  });

  it('have the jobs with a tag alone', async () => {
    const jobs = { minutely: { schedule: '* * * * *', tags: ['often'] }, nightly: { schedule: '@daily' } };
    folder.write('tagged.json', { jobs });
    const file = ['--file', 'tagged.json'] as const;
    const listed = await folder.json<RunList<{ job: string }>>(onStorage('runs', '--tag', 'often', ...file, '--json'));
    expect(new Set(listed.runs.map(({ job }) => job))).toEqual(new Set(['minutely']));
    const next = await folder.json<{ job: string }[]>(inFolder(['next', '--tag', 'often', ...file, '--json']));
    expect(next.map(({ job }) => job)).toEqual(['minutely']);
    const unknown = await onStorage('runs', '--tag', 'oftn', ...file);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "often"?') as unknown });
    expect(await onStorage('runs', 'minutely', '--tag', 'often', ...file)).toMatchObject({ code: 2 });
  });

  it('need no jobs file', async () => {
    const env = { CRONLEASE_STORAGE: azurite.connectionString, CRONLEASE_CONTAINER: 'cli' };
    const elsewhere = (...args: string[]): Promise<Ended> => folder.run(args, env, os.tmpdir());
    expect((await folder.json<RunList>(elsewhere('runs', 'minutely', '--json'))).runs).toHaveLength(3);
    const { code, stderr } = await elsewhere('runs', 'minutly');
    expect(code).toBe(1);
    expect(stderr).toContain('Did you mean "minutely"?');
    expect(await elsewhere('runs', '--file', 'none.json')).toMatchObject({ code: 1 });
    const known = await onStorage('runs', 'seldom');
    expect(known).toMatchObject({ code: 0, stdout: 'Job "seldom" has not run yet.\n' });
    expect(await folder.json(onStorage('runs', 'seldom', '--json'))).toEqual({ runs: [], cursor: null });
  });

  it.each<[string, number, object]>([
    ['a run', 6, { due: true, outcome: 'failed', reason: 'handlerError', record: { scheduledFor: iso(run) } }],
    ['a due time within a stretch', 3, { due: true, outcome: 'paused', reason: 'paused', record: { count: 6 } }],
    ['an open record', 20, { due: true, outcome: 'running', reason: 'attemptRunning', record: { outcome: 'running' } }],
    ['what came before', -1, { due: true, outcome: 'notDue', reason: 'beforeFirstSeen', record: null }],
    ['what nobody recorded', 9, { due: true, outcome: 'notDue', reason: 'otherSchedule', record: null }],
    ['what is to come', 200, { due: true, outcome: 'future', reason: 'notYetDue', record: null }],
    ['no due time', 6.5, { due: false, outcome: 'notDue', reason: 'notInSchedule', record: null }],
  ])('explain %s', async (_, minutes, expected) => {
    const time = iso(first + minutes * MINUTE);
    const answer = await folder.json<object>(onStorage('why', 'minutely', time, '--json'));
    expect(answer).toMatchObject({ job: 'minutely', time, ...expected });
    expect(Object.keys(answer)).toEqual(['job', 'time', 'due', 'outcome', 'reason', 'record', 'backfills']);
  });

  it('explain for people, in the zone of the job', async () => {
    const { code, stdout, stderr } = await onStorage('why', 'nightly', '2026-03-29T02:30');
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^nightly at 2026-03-29T01:00:00Z \(2026-03-29T03:00:00\+02:00 Europe\/Paris\)\n/);
    expect(stdout).toContain('succeeded (completed)\nThe handler returned.\n');
    expect(stdout).toContain('{"rows":3}');
    const failed = await onStorage('why', 'minutely', iso(run), '--verbose');
    expect((await onStorage('why', 'minutely', iso(run))).stdout).not.toContain('token');
    expect(failed.stdout).toMatch(/attempt 2 {2}token 8 {2}on east {2}from \S+ to \S+ {2}failed\n {4}TypeError: boom/);
    const between = await onStorage('why', 'nightly', '2026-03-29T12:00:00+02:00');
    expect(between.stdout).toContain('the nearest due times are 2026-03-29T01:00:00Z');
  });

  it('warn of a schedule that is not the one that the job follows', async () => {
    folder.write('old.json', { revision: 0, jobs: { minutely: { schedule: '*/5 * * * *' } } });
    const { code, stderr } = await onStorage('why', 'minutely', iso(run), '--file', 'old.json');
    expect(code).toBe(0);
    expect(stderr).toContain('which the job follows: use the newer file');
  });
});

describe('pause, resume, run and cancel', () => {
  beforeAll(async () => {
    await addRow('asked', newRow(MARK, 1, 'h'));
    await addRow('leader', newRow(MARK, 1, 'h'));
  });

  it('pause, once, with a note, and resume, once', async () => {
    const paused = await folder.json<{ since: string }>(
      onStorage('pause', 'seldom', '--note', '  Größe “x” wird umgebaut ', '--by', 'Ann', '--json'),
    );
    const pause = { by: 'Ann', note: 'Größe “x” wird umgebaut' };
    expect(paused).toEqual({ job: 'seldom', ...pause, since: paused.since, until: null });
    expect(Math.abs(Date.parse(paused.since) - Date.now())).toBeLessThan(30_000);
    expect(await controlOf('seldom')).toMatchObject({ pauses: [{ ...pause, since: Date.parse(paused.since) }] });
    const again = await onStorage('pause', 'seldom', '--note', 'x');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain(`paused already, since ${paused.since} by Ann: Größe “x” wird umgebaut`);
    expect((await onStorage('runs', 'seldom')).stdout).toContain('by Ann: Größe “x” wird umgebaut');
    const resumed = await folder.json<{ until: string }>(onStorage('resume', 'seldom', '--json'));
    expect(resumed).toEqual({ ...paused, until: resumed.until });
    const failed = await folder.json<object>(onStorage('resume', 'seldom', '--json'), 1);
    expect(failed).toEqual({ error: { code: 'NotPaused', message: 'job "seldom" is not paused' } });
  });

  it('pause until a time or for a while, and show the skipped due times', async () => {
    const before = Date.now();
    const { until } = await folder.json<{ until: string }>(
      onStorage('pause', 'seldom', '--note', 'n', '--until', '2h', '--json'),
    );
    expect(Date.parse(until)).toBeGreaterThanOrEqual(before + 2 * 3_600_000);
    expect((await controlOf('seldom'))?.pauses.at(-1)?.until).toBe(Date.parse(until));
    expect((await onStorage('resume', 'seldom')).stdout).toMatch(
      /^Resumed seldom after .*\. No due time was skipped\.\n/,
    );
    const past = await onStorage('pause', 'seldom', '--note', 'n', '--until', '2020-01-01');
    expect(past).toMatchObject({ code: 1, stderr: expect.stringContaining('which is past') as unknown });
    const odd = await onStorage('pause', 'seldom', '--note', 'n', '--until', 'tomorrow');
    expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('--until "tomorrow"') as unknown });
  });

  it('are for people too', async () => {
    const paused = await onStorage('pause', 'asked', '--note', 'n');
    expect(paused).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Paused asked at \S+Z\./) as unknown });
    expect((await controlOf('asked'))?.pauses).toMatchObject([{ by: os.userInfo().username }]);
    const run = await onStorage('run', 'asked');
    expect(run.stdout).toMatch(/^Requested run asked-\S+-m-[0-9a-z]{8}\.\n.*although the job is paused/);
    expect(await onStorage('resume', 'asked')).toMatchObject({ code: 0 });
  });

  it('ask for a run that can be followed', async () => {
    const { runId, requestedAt, ...rest } = await folder.json<{ job: string; runId: string; requestedAt: string }>(
      onStorage('run', 'asked', '--json'),
    );
    expect(rest).toEqual({ job: 'asked' });
    const request = (await controlOf('asked'))?.manualRuns.at(-1);
    expect(request?.time).toBe(Date.parse(requestedAt));
    expect(runId.endsWith(`-m-${request?.id ?? ''}`)).toBe(true);
    expect(await folder.json(onStorage('why', 'asked', requestedAt, '--json'))).toEqual({
      ...{ job: 'asked', time: requestedAt, due: false, outcome: 'pending', reason: 'requested', record: null },
      backfills: [],
    });
  });

  it('refuse what makes no sense, and write nothing', async () => {
    const at = (name: string): Promise<Control | undefined> => controlOf(name);
    await hold('minutely');
    const busy = await onStorage('run', 'minutely');
    expect(busy).toMatchObject({ code: 1, stdout: '' });
    expect(busy.stderr).toMatch(/job "minutely" has run minutely-\d{8}T\d{6}Z in progress, and its overlap is "skip"/);
    expect(await at('minutely')).toBeUndefined();
    const leader = await onStorage('run', 'leader');
    expect(leader).toMatchObject({ code: 1, stderr: expect.stringContaining('@always') as unknown });
    const idle = await onStorage('cancel', 'asked');
    expect(idle).toMatchObject({ code: 1, stderr: 'error: job "asked" has no run in progress\n' });
    const unknown = await onStorage('pause', 'nobody', '--note', 'n');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no job "nobody"') as unknown });
    expect(await at('nobody')).toBeUndefined();
  });

  it('accept a request for a job that nobody has seen, and warn', async () => {
    const { code, stderr } = await onStorage('run', 'seldom', '--json');
    expect(code).toBe(0);
    expect(stderr).toContain('warning: no deployment has seen job "seldom" yet');
  });

  it('cancel the run that goes on', async () => {
    await hold('minutely');
    const answer = await folder.json<{ runId: string }>(onStorage('cancel', 'minutely', '--json'));
    expect(answer).toMatchObject({
      job: 'minutely',
      runId: expect.stringMatching(/^minutely-\d{8}T\d{6}Z$/) as unknown,
    });
    expect(await controlOf('minutely')).toMatchObject({ cancel: answer.runId });
    const again = await onStorage('cancel', 'minutely');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(answer.runId) as unknown });
    expect(again.stdout).toMatch(/at the next renewal of its lease, within 10 s\.|no attempt runs now/);
  });
});

describe('what people change', () => {
  it('is recorded, with the person and the shell', async () => {
    const { audits } = await store.listAudits({ limit: 100 });
    const entries = audits.map(({ metadata }) => decodeAudit(metadata));
    const { username } = os.userInfo();
    for (const { origin } of entries) expect(origin).toMatchObject({ actor: username, channel: 'shell' });
    const seen = new Set(entries.map(({ action, state }) => `${action} ${state}`));
    expect([...seen]).toEqual(
      expect.arrayContaining(['pause done', 'pause refused', 'resume done', 'run done', 'cancel done']),
    );
    const paused = entries.find(({ action, state }) => action === 'pause' && state === 'done');
    expect(paused).toMatchObject({ target: expect.any(String) as string, after: { until: null } });
  });
});

describe('what is not ours', () => {
  it('is a clear error', async () => {
    await store.createRow('foreign' as JobName, { format: '9' });
    folder.write('foreign.json', { jobs: { foreign: { schedule: '* * * * *' } } });
    const { code, stderr } = await onStorage('why', 'foreign', iso(MARK), '--file', 'foreign.json');
    expect(code).toBe(1);
    expect(stderr).toContain('changed by something other than cronlease');
    expect(stderr).not.toContain('    at ');
  });

  it('is a container that does not exist', async () => {
    const args = ['runs', '--storage', azurite.connectionString, '--container', 'nothing-here'];
    const { code, stderr } = await inFolder(args);
    expect(code).toBe(1);
    expect(stderr).toContain('/nothing-here: 404 ContainerNotFound. The container does not exist');
  });
});

describe('a cluster in the current folder', () => {
  const devFile = (pid: number): void => {
    fs.mkdirSync(path.join(folder.path, '.cronlease'), { recursive: true });
    folder.write('.cronlease/dev.json', { storage: azurite.connectionString, container: 'cli', pid });
  };

  it('is used while it runs', async () => {
    devFile(process.pid);
    expect((await folder.json<RunList>(inFolder(['runs', 'nightly', '--json']))).runs).toHaveLength(1);
    // One that was killed has left its file behind.
    devFile(2 ** 22 + 1);
    expect(await inFolder(['runs'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no storage') as unknown,
    });
    fs.rmSync(path.join(folder.path, '.cronlease'), { recursive: true });
  });

  it('is started by dev', async () => {
    const app = copyApp('basic');
    const args = ['dev', '--app', app, '--instances', '1', '--port', '0', '--duration', '1s', '--json'];
    const { code, stdout, stderr } = await inFolder([...args, '--storage', azurite.connectionString]);
    fs.rmSync(app, { recursive: true, force: true });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout.split('\n', 1)[0] ?? '')).toMatchObject({ event: 'ready', instances: [{}] });
  });
});
