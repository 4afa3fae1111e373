import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { encodeControl, NO_CONTROL } from '../../src/core/control';
import { type Row, encodeRow, forgottenRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { type JobEntry, listJobs } from '../../src/operator/views/list-jobs';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';
import { ranRow } from '../support/situation';

const T0 = Date.UTC(2026, 0, 1, 12);
const LEASE = '00000001-0000-4000-8000-000000000000' as LeaseId;
const name = (text: string): JobName => text as JobName;
const job = jobSpec('idle', '@hourly');
const pause = { by: 'ann', note: 'moving', since: T0, until: undefined };

/** One job of every kind, and what one listing makes of them. */
async function scene() {
  const clock = settableClock(T0);
  const store = memoryService(clock).open();
  const add = (text: string, row: Row): Promise<unknown> => store.createRow(name(text), encodeRow(row));
  const hold = async (text: string): Promise<void> => {
    const row = await store.readRow(name(text));
    if (row !== undefined) await store.acquire(name(text), { leaseId: LEASE, leaseMs: 15_000, ifMatch: row.etag });
  };
  await add('idle', ranRow(job));
  await add('lapsed', ranRow(job, { phase: 'running' }));
  await hold('lapsed');
  await clock.advance(16_000);
  await add('held', ranRow(job, { phase: 'running' }));
  await hold('held');
  await add('waiting', ranRow(job, { phase: 'retrying', notBefore: T0 + 60_000 }));
  await add('forgotten', forgottenRow(ranRow(job), T0));
  await store.createRow(name('newer'), { ...encodeRow(ranRow(job)), format: '2' });
  await add('spoiled', ranRow(job));
  await store.writeControl(name('spoiled'), { format: '7' }, undefined);
  await add('paused', ranRow(job));
  for (const text of ['paused', 'wanted']) {
    await store.writeControl(name(text), encodeControl({ ...NO_CONTROL, pauses: [pause] }), undefined);
  }
  const calls: string[] = [];
  const counted = new Proxy<LeaseStore>(store, {
    get(target, member, receiver): unknown {
      calls.push(String(member));
      return Reflect.get(target, member, receiver);
    },
  });
  const list = await listJobs(counted, [job, jobSpec('only-in-file', '@daily')]);
  const entry = (text: string): JobEntry | undefined => list.jobs.find((found) => found.name === text);
  return { list, entry, calls };
}

describe('the list of jobs', () => {
  it('has every job of the listing and of the file once, by one call', async () => {
    const { list, calls } = await scene();
    expect(calls).toEqual(['list']);
    expect(list.now).toBe(T0 + 16_000);
    expect(list.jobs.map((found) => found.name).sort()).toEqual([
      ...['forgotten', 'held', 'idle', 'lapsed', 'newer', 'only-in-file', 'paused', 'spoiled', 'waiting', 'wanted'],
    ]);
    expect(list.jobs.filter(({ spec }) => spec !== undefined).map((found) => found.name)).toEqual([
      'idle',
      'only-in-file',
    ]);
  });

  it('has the state of each', async () => {
    const { entry } = await scene();
    expect(entry('idle')?.state).toMatchObject({ lease: 'available', row: { phase: 'running' }, now: T0 + 16_000 });
    expect(entry('held')?.state).toMatchObject({ lease: 'held', row: { phase: 'running' } });
    expect(entry('lapsed')?.state).toMatchObject({ lease: 'expired', row: { phase: 'running' } });
    expect(entry('waiting')?.state).toMatchObject({ lease: 'available', row: { phase: 'retrying' } });
    expect(entry('paused')?.state).toMatchObject({ control: { pauses: [pause] }, row: { phase: 'running' } });
    expect(entry('forgotten')).toMatchObject({ isForgotten: true, state: { row: { forgotten: T0 } } });
    expect(entry('idle')?.isForgotten).toBe(false);
  });

  it('has jobs that no coordinator has seen', async () => {
    const { entry } = await scene();
    expect(entry('only-in-file')).toMatchObject({ listed: undefined, state: { row: undefined, control: NO_CONTROL } });
    expect(entry('wanted')).toMatchObject({
      listed: undefined,
      state: { row: undefined, control: { pauses: [pause] } },
    });
  });

  it('leaves out the state of a job whose row or control cannot be read, and has the reason', async () => {
    const { entry } = await scene();
    expect(entry('newer')).toMatchObject({ state: undefined, unreadable: [{ part: 'lease' }] });
    expect(entry('spoiled')).toMatchObject({ state: undefined, unreadable: [{ part: 'control' }] });
    expect(entry('spoiled')?.unreadable[0]?.error.message).toContain('"7"');
  });
});
