import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeAudit } from '../../src/core/audit';
import type { JobName, Token } from '../../src/core/brand';
import { type Control, type ManualRun, decodeControl } from '../../src/core/control';
import type { RanOutcome } from '../../src/core/outcome';
import { recordKey } from '../../src/core/key';
import { itemPiece, PLAN_PIECE, beatPiece } from '../../src/core/fan-out';
import { itemSummary } from '../../src/core/item-table';
import { finalRecord, openRecord, storeRecord } from '../../src/core/record';
import { encodeRow, newRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, type Ended, type Started, cliFolder } from '../support/cli-build';
import { jobSpec } from '../support/job';
import { ranRow } from '../support/situation';

const DUE = Date.UTC(2026, 0, 1, 3);
const NAMES = ['waited', 'reasoned', 'followed', 'failing', 'again'] as const;

let azurite: Azurite;
let folder: CliFolder;
let store: LeaseStore;
const environment = (): NodeJS.ProcessEnv => ({
  ...{ CRONLEASE_STORAGE: azurite.connectionString, CRONLEASE_CONTAINER: 'run' },
});
const cli = (...args: readonly string[]): Promise<Ended> => folder.run(args, environment());
const starting = (...args: readonly string[]): Started => folder.start(args, environment());

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  folder.write('jobs.json', { jobs: Object.fromEntries(NAMES.map((name) => [name, { schedule: '@hourly' }])) });
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'run');
  store = azureBlobStore({ container, clock: systemClock });
  await store.prepare();
  for (const name of NAMES) {
    const row = newRow(DUE - 60_000, 1, jobSpec(name, '@hourly').scheduleHash);
    await store.createRow(name as JobName, encodeRow({ ...row, cursor: Date.now() }));
  }
});
afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

async function requestOf(job: string): Promise<ManualRun> {
  const wanted = async (): Promise<ManualRun> => {
    const { control } = await store.readControl(job as JobName);
    const decoded: Control | undefined = control && decodeControl(control.metadata);
    const request = decoded?.manualRuns.at(-1);
    if (request === undefined) throw new Error(`no request for ${job}`);
    return request;
  };
  return vi.waitFor(wanted, { timeout: 90_000, interval: 200 });
}

/** What a deployment would write at the end of the requested run. */
async function end(job: string, { id, time, origin }: ManualRun, outcome: RanOutcome): Promise<void> {
  const spec = jobSpec(job, '@hourly');
  const key = recordKey(time, id);
  const row = ranRow(spec, {
    token: 2 as Token,
    run: { key, scheduledFor: time, trigger: 'manual', since: time, ...(origin && { origin }) },
  });
  const error = outcome === 'failed' ? { name: 'TypeError', message: 'boom', stack: 'TypeError: boom' } : null;
  const times = { startedAt: new Date(time).toISOString(), endedAt: new Date(time + 1_500).toISOString() };
  const attempt = { ...{ attempt: 1, token: 2, deployment: 'east', error }, ...times, outcome } as const;
  const reason = outcome === 'failed' ? 'handlerError' : 'completed';
  const record = finalRecord(spec, row, [attempt], { outcome, reason, at: time + 1_500 });
  await store.createRecord(spec.name, key, storeRecord(record));
}

describe('runs --json', () => {
  it('has the items of a run that fans out while they are at work', async () => {
    const spec = jobSpec('parts', '@hourly');
    const key = recordKey(DUE);
    const run = { key, scheduledFor: DUE, trigger: 'schedule', since: DUE } as const;
    const row = ranRow(spec, { token: 2 as Token, phase: 'fanning', notBefore: Date.now() + 3_600_000, run });
    await store.createRow(spec.name, encodeRow(row));
    const times = { startedAt: new Date(DUE).toISOString(), endedAt: new Date(DUE + 500).toISOString() };
    const planned = { attempt: 1, token: 2, deployment: 'east', error: null, ...times, outcome: 'planned' } as const;
    await store.createRecord(spec.name, key, storeRecord(openRecord(spec, row, [planned])));
    await store.createPiece(spec.name, key, PLAN_PIECE, { body: '["1","2","3"]', summary: { items: '3' } });
    const end = { state: 'succeeded', attempts: 1, durationMs: 80 } as const;
    await store.createPiece(spec.name, key, itemPiece(1), { body: JSON.stringify(end), summary: itemSummary(end) });
    await store.createPiece(spec.name, key, beatPiece(row.token, 'a'), {
      body: '{}',
      summary: { items: 'retrying 2 3' },
    });
    const { stdout } = await cli('runs', 'parts', '--json');
    const lines = [{ index: 1, ...end }];
    const notEnded = [{ from: 0, to: 0 }];
    const noted = [{ index: 2, state: 'retrying', attempt: 3 }];
    expect(JSON.parse(stdout)).toMatchObject({
      runs: [{ job: 'parts', items: { planned: 3, succeeded: 1, failed: 0, lines, leftOut: 0, notEnded, noted } }],
    });
  });
});

describe.concurrent('run and rerun', () => {
  it('give the run an input, wait for its end, and exit by its outcome', async () => {
    const waiting = starting('run', 'waited', '--input', '{"day":"2026-01-31"}', '--wait', '--json');
    const request = await requestOf('waited');
    expect(request).toMatchObject({ hasInput: true, origin: { channel: 'shell' } });
    expect(await store.readRequest(request.id)).toBe('{"day":"2026-01-31"}');
    await end('waited', request, 'succeeded');
    const { code, stdout, stderr } = await waiting.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ job: 'waited', outcome: 'succeeded', reason: 'completed', record: { outcome: 'succeeded' } },
    });
  });

  it('give the run a reason, which lists show and find, and the record of the change has', async () => {
    const waiting = starting('run', 'reasoned', '--note', ' the rates of Friday ', '--wait');
    const request = await requestOf('reasoned');
    expect(request.origin).toMatchObject({ channel: 'shell', note: 'the rates of Friday' });
    await end('reasoned', request, 'succeeded');
    expect((await waiting.ended).code).toBe(0);
    expect((await cli('runs', '--note', 'RATES')).stdout).toMatch(
      /^reasoned .* manual\n {4}by \S+ \(shell\): the rates of Friday$/m,
    );
    const time = new Date(request.time).toISOString();
    expect((await cli('why', 'reasoned', time)).stdout).toMatch(/^ {2}asked +by \S+ \(shell\): the rates of Friday$/m);
    expect((await cli('runs', '--note', 'wages')).stdout).toBe('No such run.\n');
    const { audits } = await store.listAudits({ limit: 50 });
    expect(
      audits.map(({ metadata }) => decodeAudit(metadata)).filter(({ target }) => target === 'reasoned'),
    ).toMatchObject([{ action: 'run', origin: { note: 'the rates of Friday' }, state: 'done' }]);
    for (const note of [' ', 'x'.repeat(201)]) {
      expect(await cli('run', 'reasoned', '--note', note)).toMatchObject({ code: 2, stdout: '' });
    }
  });

  it.each([['resume'], ['cancel'], ['unack'], ['uncordon']])('%s takes a reason too', async (command) => {
    const { code, stderr } = await cli(command, 'waited', '--note', 'it is over');
    // Nothing is paused, runs, is acknowledged or cordoned.
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: /) as unknown });
    const { audits } = await store.listAudits({ limit: 200 });
    const entries = audits.map(({ metadata }) => decodeAudit(metadata));
    expect(entries.find(({ action }) => action === command)).toMatchObject({
      ...{ target: 'waited', state: 'refused', origin: { note: 'it is over' } },
    });
  });

  it('exit with 3 where the run has failed, and name its error', async () => {
    const waiting = starting('run', 'failing', '--wait');
    await end('failing', await requestOf('failing'), 'failed');
    const { code, stdout } = await waiting.ended;
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^Requested run failing-\S+\.\nIt starts within [^\n]*\.\nRun failing-\S+ failed \(handlerError, took 1\.5 s\)\.\n {4}TypeError: boom\n$/,
    );
  });

  it('print what the handler says, with --follow', async () => {
    const following = starting('run', 'followed', '--follow');
    await end('followed', await requestOf('followed'), 'succeeded');
    const { code, stdout } = await following.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nRun followed-\S+ succeeded \(took 1\.5 s\)\.\n$/);
    expect(await cli('run', 'followed', '--follow', '--json')).toMatchObject({ code: 2 });
  });

  it('repeat an earlier due time', async () => {
    const due = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
    const waiting = starting('rerun', 'again', due.toISOString(), '--wait');
    const request = await requestOf('again');
    expect(request.rerunOf).toBe(due.getTime());
    await end('again', request, 'succeeded');
    expect((await waiting.ended).code).toBe(0);
    const ahead = await cli('rerun', 'again', new Date(due.getTime() + 7_200_000).toISOString());
    expect(ahead).toMatchObject({ code: 1, stderr: expect.stringContaining('which is ahead') as unknown });
    const never = await cli('rerun', 'again', new Date(due.getTime() - 60_000).toISOString());
    expect(never).toMatchObject({ code: 1, stdout: '' });
  });

  it('refuse an input that is no JSON', async () => {
    const { code, stderr } = await cli('run', 'waited', '--input', '{day: 1}');
    expect(code).toBe(2);
    expect(stderr).toContain('--input is not JSON');
  });
});
