import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import type { Row } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import type { Overview } from '../../src/manage/schema/jobs';
import type { Ended } from '../support/cli-build';
import { addRow, type CliFleet, cliFleet } from '../support/cli-fleet';

const CONTAINER = 'cli-left';
const DUE = Math.floor(Date.now() / 60_000) * 60_000 - 120_000;
const iso = (at: number): string => new Date(at).toISOString();

/** A run whose first attempt has failed, and whose second one waits. */
const WAITING: Partial<Row> = {
  ...{ cursor: DUE, token: 3 as Token, phase: 'retrying', attempt: 1, incumbent: 'east', notBefore: DUE + 600_000 },
  run: { key: recordKey(DUE), scheduledFor: DUE, trigger: 'schedule', since: DUE },
  past: [{ attempt: 1, token: 3, deployment: 'east', start: DUE, end: DUE + 1_000, outcome: 'failed' }],
};

let fleet: CliFleet;
let store: LeaseStore;
const run = (...args: readonly string[]): Promise<Ended> => fleet.folder.run(args, fleet.env(CONTAINER));
const jobsOf = async (...args: readonly string[]): Promise<Overview['jobs']> =>
  (JSON.parse((await run('status', ...args, '--json')).stdout) as Overview).jobs;

beforeAll(async () => {
  fleet = await cliFleet();
  store = await fleet.open(CONTAINER);
  await addRow(store, 'removed', WAITING);
});
afterAll(() => fleet.remove());

describe('a job that was removed from the jobs file while its run waits', () => {
  it('needs attention by "status", which names the reason', async () => {
    expect((await run('status')).stdout).toMatch(/\nremoved +retrying [^\n]*\n +not in this jobs file/);
    const failed = await jobsOf('--failed');
    expect(failed).toMatchObject([{ name: 'removed', state: 'retrying', detail: 'not in this jobs file' }]);
    expect((await run('status', '--failed')).code).toBe(1);
    // Without a file, every job would be missing from it.
    const without = await fleet.folder.run(['status', '--failed'], fleet.env(CONTAINER), '/');
    expect(without).toMatchObject({ code: 0, stdout: expect.not.stringContaining('not in this jobs file') as unknown });
  });

  it('is explained by "why"', async () => {
    const { code, stdout, stderr } = await run('why', 'removed', iso(DUE));
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/retrying \(backOff\)/) as unknown });
    expect(stderr).toContain('is not in this jobs file: no deployment with this file runs it, or continues its run');
    expect(stderr).toContain('"cronlease cancel removed"');
    const other = await run('why', 'removed', iso(DUE - 3_600_000));
    expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining('notDue (notInFile)') as unknown });
    expect((await run('why', 'remooved', iso(DUE))).stderr).toContain('Did you mean "removed"?');
  });

  it('is ended by "cancel"', async () => {
    const { code, stdout } = await run('cancel', 'removed', '--note', 'gone for good');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Ended run removed-\S+ as cancelled/) as unknown,
    });
    const record = await store.readRecord('removed' as JobName, recordKey(DUE));
    expect(JSON.parse(record?.body ?? '{}')).toMatchObject({ outcome: 'cancelled', reason: 'cancelRequested' });
    expect((await run('why', 'removed', iso(DUE))).stdout).toMatch(/cancelled \(cancelRequested\)/);
    expect(await jobsOf('--failed')).toEqual([]);
    expect(await jobsOf('removed')).toMatchObject([{ state: 'idle', detail: 'not in this jobs file' }]);
    expect(await run('cancel', 'removed')).toMatchObject({ code: 1 });
    const { entries } = JSON.parse((await run('audit', '--json')).stdout) as { entries: object[] };
    expect(entries).toMatchObject([{ state: 'refused' }, { action: 'cancel', target: 'removed', state: 'done' }]);
  });
});
