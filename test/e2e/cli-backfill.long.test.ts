import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import type { JobName, Token } from '../../src/core/brand';
import { decodeControl } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { type AttemptRecord, finalRecord, storeRecord } from '../../src/core/record';
import { encodeRow, newRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';

const NIGHTLY = 'nightly' as JobName;
const JOBS = {
  revision: 1,
  jobs: { nightly: { schedule: '30 2 * * *', timeZone: 'Europe/Paris' }, asked: { schedule: '@manual' } },
};
const SPEC = specIn(JOBS, NIGHTLY);
const APRIL_1 = Date.UTC(2026, 3, 1, 0, 30);
const DAY = 86_400_000;

let azurite: Azurite;
let folder: CliFolder;
let store: LeaseStore;
const environment = (): NodeJS.ProcessEnv => ({ CRONLEASE_STORAGE: azurite.connectionString });
const backfill = (...args: readonly string[]): Promise<Ended> =>
  folder.run(['backfill', ...args, '--container', 'cli'], environment());

function specIn(file: object, job: JobName): JobSpec {
  const spec = loadJobs(file).jobsFile.jobs.find(({ name }) => name === job);
  if (spec === undefined) throw new Error(`no job ${job}`);
  return spec;
}

async function addRecord(scheduledFor: number, outcome: 'succeeded' | 'failed'): Promise<void> {
  const run = { key: recordKey(scheduledFor), scheduledFor, trigger: 'schedule', since: scheduledFor } as const;
  const row = { ...newRow(scheduledFor, 1, SPEC.scheduleHash), run, phase: 'running', attempt: 1, token: 7 as Token };
  const times = { startedAt: iso(scheduledFor), endedAt: iso(scheduledFor + 1_000) };
  const error = outcome === 'failed' ? { name: 'Error', message: 'no rates', stack: 'Error: no rates' } : null;
  const attempt: AttemptRecord = { attempt: 1, token: 7, deployment: 'east', ...times, outcome, error };
  const reason = outcome === 'failed' ? 'handlerError' : 'completed';
  const end = { outcome, reason, at: scheduledFor + 1_000 } as const;
  const record = finalRecord(SPEC, { ...row, phase: 'running' }, [attempt], end);
  await store.createRecord(NIGHTLY, recordKey(scheduledFor), storeRecord(record));
}

const iso = (instant: number): string => new Date(instant).toISOString();

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  folder.write('jobs.json', JOBS);
  store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli'),
    clock: systemClock,
  });
  await store.prepare();
  await store.createRow(NIGHTLY, encodeRow(newRow(APRIL_1 + 10 * DAY, 1, SPEC.scheduleHash)));
  await addRecord(APRIL_1, 'succeeded');
  await addRecord(APRIL_1 + DAY, 'failed');
  await addRecord(APRIL_1 + 2 * DAY, 'succeeded');
});

afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

describe('cronlease backfill', () => {
  const span = ['nightly', '--from', '2026-04-01', '--to', '2026-04-05'] as const;

  it('lists what would run, within 80 columns, and starts nothing by a dry run', async () => {
    const { code, stdout } = await backfill(...span, '--dry-run', '--utc');
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toBe(
      [
        'Back-fill of nightly, the oldest first: 2 due times run, and 2 have succeeded',
        '  2026-04-01T00:30:00Z  skipped: succeeded',
        '  2026-04-02T00:30:00Z  runs: failed',
        '  2026-04-03T00:30:00Z  skipped: succeeded',
        '  2026-04-04T00:30:00Z  runs: no record',
        '',
      ].join('\n'),
    );
    expect(await backfill('nightly', '--status')).toMatchObject({ stdout: 'Job nightly has no back-fill.\n' });
  });

  it('prints the dry run for programs', async () => {
    const plan = await folder.json<{ running: number; skipped: number; started: null; dueTimes: object[] }>(
      backfill(...span, '--dry-run', '--json'),
    );
    expect(plan).toMatchObject({ running: 2, skipped: 2, started: null });
    expect(plan.dueTimes[1]).toEqual({ scheduledFor: iso(APRIL_1 + DAY), outcome: 'failed', runs: true });
  });

  it('asks before it starts, and starts nothing without an answer', async () => {
    const { code, stderr } = await backfill(...span);
    expect(code).not.toBe(0);
    expect(stderr).toContain('--yes');
    expect((await store.readControl(NIGHTLY)).control).toBeUndefined();
  });

  it.each([
    [['nightly'], '--from is missing'],
    [['nightly', '--from', '2026-04-05', '--to', '2026-04-01'], '--to is before --from'],
    [['nightly', '--from', 'soon'], '--from "soon"'],
    [['nightly', '--from', '2026-04-01', '--order', 'random'], 'oldest, newest'],
    [['nightly', '--from', '2026-04-01', '--limit', '0'], 'from 1 to 10000'],
    [['nightly', '--status', '--stop'], 'cannot be used with'],
  ])('%j is wrong usage', async (args, message) => {
    const { code, stdout, stderr } = await backfill(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  it.each([
    [['asked', '--from', '2026-04-01', '--yes'], '@manual'],
    [['nightly', '--from', '2026-04-01', '--to', '2026-04-02T00:00:00Z', '--yes'], 'have succeeded'],
    [['nightly', '--stop'], 'no back-fill in progress'],
  ])('%j is refused, with the reason', async (args, message) => {
    const { code, stderr } = await backfill(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('starts, shows how far it is, refuses a second one, and stops', async () => {
    const started = await backfill(...span, '--yes', '--note', 'new rates', '--utc');
    expect(started.stdout).toMatch(
      /Started back-fill [a-z0-9]+\. It begins .*\. To follow it:\n {2}cronlease backfill/,
    );
    const { control } = await store.readControl(NIGHTLY);
    const { backfill: kept } = decodeControl(control?.metadata ?? {});
    expect(kept).toMatchObject({ from: APRIL_1 + DAY, through: APRIL_1 + 3 * DAY, order: 'oldest' });
    const status = await backfill('nightly', '--status', '--utc');
    expect(status.stdout).toContain('in progress');
    expect(status.stdout).toContain('note       new rates');
    expect(status.stdout).toContain('done       0 of 3');
    expect(status.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const second = await backfill(...span, '--yes');
    expect(second).toMatchObject({ code: 1 });
    expect(second.stderr).toContain('is not over');
    const stopped = await backfill('nightly', '--stop', '--note', 'wrong month');
    expect(stopped.stdout).toMatch(/^Stopped back-fill [a-z0-9]+ of nightly\./);
    expect(await backfill('nightly', '--status')).toMatchObject({
      stdout: expect.stringContaining('stopped') as string,
    });
  });
});
