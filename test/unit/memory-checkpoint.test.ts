import { expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const JOB = 'nightly' as JobName;
const RECORD = { body: '{}', summary: { state: 'open' } };

it.each(['kept', 'gone'] as const)('a checkpoint puts every blob back, with leases %s', async (leases) => {
  const service = memoryService(settableClock());
  const store = service.open();
  await store.createRow(JOB, { token: '1' });
  await store.createRecord(JOB, 'old', RECORD);
  await store.createPiece(JOB, 'old', 'plan', RECORD);
  await store.createLog(JOB, 'old', '1');
  await store.appendLog(JOB, 'old', '1', { text: 'said', at: 0 });
  const before = await store.readRow(JOB);
  const guard = { leaseId: 'held' as LeaseId, ifMatch: before?.etag ?? fail() };
  await store.acquire(JOB, { ...guard, leaseMs: 15_000 });

  const point = service.checkpoint();
  await store.writeRow(JOB, { token: '2' }, guard);
  await store.release(JOB, guard.leaseId);
  await store.createRecord(JOB, 'new', RECORD);
  await store.createPiece(JOB, 'old', 'item', RECORD);
  await store.appendLog(JOB, 'old', '1', { text: ' more', at: 4 });
  await store.createLog(JOB, 'old', '2');
  await store.writeControl(JOB, { pauses: '[]' }, undefined);
  await store.writePresence('region', { at: 'now' }, undefined);
  service.failOver([point], () => point, leases);

  expect(await store.readRow(JOB)).toMatchObject({
    metadata: { token: '1' },
    etag: before?.etag,
    lease: leases === 'kept' ? 'leased' : 'available',
  });
  expect((await store.listRecords(JOB, { limit: 10 })).records.map(({ key }) => key)).toEqual(['old']);
  expect((await store.listPieces(JOB, { limit: 10 })).pieces.map(({ name }) => name)).toEqual(['plan']);
  expect((await store.listLogs(JOB, 'old', { limit: 10 })).logs).toEqual([{ name: '1', bytes: 4 }]);
  expect(await store.readLog(JOB, 'old', '1', { from: 0, limit: 10 })).toBe('said');
  expect((await store.readControl(JOB)).control).toBeUndefined();
  expect((await store.listPresences()).presences.size).toBe(0);
});

it('puts each blob back to an instant of its own', async () => {
  const service = memoryService(settableClock());
  const store = service.open();
  await store.createRow(JOB, { token: '1' });
  const first = service.checkpoint();
  await store.createRecord(JOB, 'old', RECORD);
  await store.writeControl(JOB, { pauses: '[]' }, undefined);
  const second = service.checkpoint();
  await store.createRecord(JOB, 'new', RECORD);
  const third = service.checkpoint();

  const instants: Record<string, typeof first> = { 'runs/nightly/old': first, 'runs/nightly/new': third };
  service.failOver([first, second, third], (blob) => instants[blob] ?? second, 'kept');
  expect((await store.listRecords(JOB, { limit: 10 })).records.map(({ key }) => key)).toEqual(['new']);
  expect(await store.readRow(JOB)).toMatchObject({ metadata: { token: '1' } });
  expect((await store.readControl(JOB)).control).toMatchObject({ metadata: { pauses: '[]' } });
  // A checkpoint stays as it was.
  service.failOver([first], () => first, 'kept');
  expect((await store.listRecords(JOB, { limit: 10 })).records).toEqual([]);
});

function fail(): never {
  throw new Error('the row was not created');
}
