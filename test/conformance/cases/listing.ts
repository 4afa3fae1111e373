import { FLEET } from '../../../src/core/fleet';
import { LAYOUT } from '../../../src/core/layout';
import { expect } from 'vitest';
import type { Test } from '../suite';
import { acquire, createRow, JOB, jobName, newLeaseId, readRow, times } from './support';

/** One look at all jobs. */
export function listingCases(test: Test): void {
  content(test);
  pages(test);
}

function content(test: Test): void {
  test('is empty at first, and dated', async ({ open, now }) => {
    const { date, jobs } = await open().list();
    expect(jobs.size).toBe(0);
    expect(date % 1000).toBe(0);
    expect(Math.abs(date - now())).toBeLessThan(10_000);
  });

  test('shows rows with their lease, metadata and an ETag that fits', async ({ open }) => {
    const store = open();
    await createRow(store, jobName('free'), { token: '3', phase: 'idle' });
    const ifMatch = await createRow(store, jobName('leased'), { token: '3', phase: 'idle' });
    await acquire(store, ifMatch, jobName('leased'));

    const { jobs } = await open().list();
    expect([...jobs.keys()].toSorted()).toStrictEqual(['free', 'leased']);
    for (const [job, lease] of [
      ['free', 'available'],
      ['leased', 'leased'],
    ] as const) {
      expect(jobs.get(jobName(job))).toMatchObject({ row: { lease, metadata: { token: '3', phase: 'idle' } } });
    }
    const etag = jobs.get(jobName('free'))?.row?.etag;
    expect(etag).toBe((await readRow(store, jobName('free'))).etag);
    if (etag !== undefined) await acquire(store, etag, jobName('free'));
  });

  test('shows controls beside rows, and each without the other', async ({ open }) => {
    const store = open();
    await createRow(store, jobName('both'));
    await createRow(store, jobName('row-only'));
    expect(await store.writeControl(jobName('both'), { paused: 'yes' }, undefined)).toBe('written');
    expect(await store.writeControl(jobName('control-only'), { paused: 'no' }, undefined)).toBe('written');

    const { date, jobs } = await store.list();
    expect(jobs.size).toBe(3);
    const { control } = await store.readControl(jobName('both'));
    expect(jobs.get(jobName('both'))).toStrictEqual({
      row: await readRow(store, jobName('both')),
      control: { etag: control?.etag, metadata: { paused: 'yes' } },
      date,
    });
    expect(jobs.get(jobName('row-only'))).toStrictEqual({ row: await readRow(store, jobName('row-only')), date });
    expect(jobs.get(jobName('control-only'))).toMatchObject({ control: { metadata: { paused: 'no' } } });
    expect(jobs.get(jobName('control-only'))).not.toHaveProperty('row');
  });

  test('of one job shows that job, and none whose name begins like it', async ({ open }) => {
    const store = open();
    for (const name of ['report', 'report-2', 'reports', 'rep']) await createRow(store, jobName(name));
    const { jobs } = await store.list({ job: jobName('report') });
    expect([...jobs.keys()]).toStrictEqual(['report']);
    expect((await store.list({ job: jobName('repo') })).jobs.size).toBe(0);
  });

  test('does not show the ledger', async ({ open }) => {
    const store = open();
    await store.createRecord(JOB, '8231526400000-s', { body: '{}', summary: { outcome: 'failed' } });
    expect((await store.list()).jobs.size).toBe(0);
  });
}

function pages(test: Test): void {
  test('gathers a row and its control from two sides of a page border', async ({ open }) => {
    const writer = open();
    const names = times(7, (index) => jobName(`job-${index}`));
    for (const job of names) {
      await createRow(writer, job, { token: job });
      await writer.writeControl(job, { by: job }, undefined);
    }
    // Sizes that cut between a job's two blobs, at each of them, and nowhere.
    for (const pageSize of [1, 2, 3, 14, 500]) {
      const store = open({ pageSize });
      // A store may read the second listing in another way, because it knows the first one.
      for (const { jobs } of [await store.list(), await store.list()]) {
        expect([...jobs.keys()].toSorted()).toStrictEqual(names);
        for (const job of names) {
          expect(jobs.get(job)).toMatchObject({
            row: { lease: 'available', metadata: { token: job } },
            control: { metadata: { by: job } },
          });
        }
      }
    }
  });

  test('that is cut off goes on where it ended, and cuts no job in two', async ({ open }) => {
    const writer = open();
    const names = times(5, (index) => jobName(`job-${index}`));
    for (const job of names) {
      await createRow(writer, job, { token: job });
      await writer.writeControl(job, { by: job }, undefined);
    }
    await writer.writeControl(jobName('only'), { by: 'only' }, undefined);
    const whole = (await writer.list()).jobs;
    for (const pageSize of [1, 2, 3, 4, 500]) {
      const [fresh, acquainted] = [open({ pageSize }), open({ pageSize })];
      await acquainted.list();
      for (const store of [fresh, acquainted]) {
        const found = new Map<string, unknown>();
        let from: string | undefined;
        let parts = 0;
        do {
          const part = await store.list({ enough: AbortSignal.abort(), ...(from !== undefined && { from }) });
          for (const [job, { row, control }] of part.jobs) {
            expect(found.has(job)).toBe(false);
            found.set(job, { row, control });
          }
          from = part.continuation;
          parts += 1;
        } while (from !== undefined && parts < 50);
        expect(parts).toBeLessThan(50);
        expect(Object.fromEntries(found)).toEqual(
          Object.fromEntries([...whole].map(([job, { row, control }]) => [job, { row, control }])),
        );
      }
    }
  });

  test('shows the control of the fleet beside the jobs, on its first page, and not in the listing of one job', async ({
    open,
  }) => {
    const writer = open();
    for (const job of times(3, (index) => jobName(`job-${String(index)}`))) await writer.createRow(job, { token: job });
    expect((await writer.list()).fleet).toBeUndefined();
    expect(await writer.writeControl(FLEET, { by: 'ann' }, undefined)).toBe('written');
    const { fleet, jobs, strays } = await writer.list();
    expect(fleet?.metadata).toStrictEqual({ by: 'ann' });
    expect(fleet?.etag).toBe((await writer.readControl(FLEET)).control?.etag);
    expect([...jobs.keys()]).toStrictEqual(['job-0', 'job-1', 'job-2']);
    expect(strays).toBeUndefined();
    expect((await writer.list({ job: jobName('job-0') })).fleet).toBeUndefined();
    const first = await open({ pageSize: 1 }).list({ enough: AbortSignal.abort() });
    expect(first.fleet?.metadata).toStrictEqual({ by: 'ann' });
  });

  test('shows the layout of accounts as it shows the control of the fleet', async ({ open }) => {
    const writer = open();
    for (const job of times(3, (index) => jobName(`job-${String(index)}`))) await writer.createRow(job, { token: job });
    expect((await writer.list()).layout).toBeUndefined();
    expect(await writer.writeControl(LAYOUT, { version: '1' }, undefined)).toBe('written');
    const { layout, fleet, jobs, strays } = await writer.list();
    expect(layout?.metadata).toStrictEqual({ version: '1' });
    expect(layout?.etag).toBe((await writer.readControl(LAYOUT)).control?.etag);
    expect([...jobs.keys()]).toStrictEqual(['job-0', 'job-1', 'job-2']);
    expect([fleet, strays]).toStrictEqual([undefined, undefined]);
    expect((await writer.list({ job: jobName('job-0') })).layout).toBeUndefined();
    const first = await open({ pageSize: 1 }).list({ enough: AbortSignal.abort() });
    expect(first.layout?.metadata).toStrictEqual({ version: '1' });
  });

  test('shows over a thousand jobs, each once', async ({ open }) => {
    const store = open();
    const names = times(1050, (index) => jobName(`job-${String(index).padStart(4, '0')}`));
    for (let start = 0; start < names.length; start += 50) {
      await Promise.all(names.slice(start, start + 50).map((job) => store.createRow(job, { token: job })));
    }
    const leased = names.at(-1) ?? JOB;
    await store.acquire(leased, {
      leaseId: newLeaseId(),
      leaseMs: 60_000,
      ifMatch: (await readRow(store, leased)).etag,
    });
    for (const { jobs } of [await store.list(), await store.list()]) {
      expect(jobs.size).toBe(names.length);
      expect(names.filter((job) => jobs.get(job)?.row?.metadata['token'] !== job)).toStrictEqual([]);
      expect(names.filter((job) => jobs.get(job)?.row?.lease === 'leased')).toStrictEqual([leased]);
    }
  });
}
