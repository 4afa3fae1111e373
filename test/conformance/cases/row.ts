import { expect } from 'vitest';
import type { Test } from '../suite';
import { acquire, createRow, JOB, newLeaseId, readRow, tally, times, writeRow } from './support';

/** Creating, reading and writing a job's row. */
export function rowCases(test: Test): void {
  creation(test);
  guards(test);
  claims(test);
}

function creation(test: Test): void {
  test('is absent until created', async ({ open }) => {
    expect(await open().readRow(JOB)).toBeUndefined();
  });

  test('is created once, and stays as it was first created', async ({ open }) => {
    const store = open();
    const etag = await createRow(store, JOB, { token: '0', phase: 'idle' });
    expect(await store.createRow(JOB, { token: '7' })).toBe('exists');
    expect(await readRow(store)).toStrictEqual({
      etag,
      lease: 'available',
      metadata: { token: '0', phase: 'idle' },
    });
  });

  test('exists for a second creator also while it is leased', async ({ open }) => {
    const store = open();
    await acquire(store, await createRow(store));
    expect(await open().createRow(JOB, { token: '7' })).toBe('exists');
    expect((await readRow(store)).metadata).toStrictEqual({ token: '0' });
  });

  test('of many creators side by side one creates it', async ({ open }) => {
    const answers = await Promise.all(times(20, (index) => open().createRow(JOB, { token: String(index) })));
    expect(tally(answers)).toStrictEqual({ created: 1, exists: 19 });
    const winner = String(answers.indexOf('created'));
    expect((await readRow(open())).metadata).toStrictEqual({ token: winner });
  });
}

function guards(test: Test): void {
  test('a write replaces all metadata and gives the new ETag', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store, JOB, { token: '0', owed: 'much' });
    const leaseId = await acquire(store, ifMatch);
    const etag = await writeRow(store, { leaseId, ifMatch }, { token: '1' });
    expect(etag).not.toBe(ifMatch);
    expect(await readRow(open())).toStrictEqual({ etag, lease: 'leased', metadata: { token: '1' } });
  });

  test('a write needs the lease and the ETag, both', async ({ open }) => {
    const store = open();
    const old = await createRow(store);
    const leaseId = await acquire(store, old);
    const etag = await writeRow(store, { leaseId, ifMatch: old }, { token: '1' });
    const write = (guard: { leaseId: typeof leaseId; ifMatch: typeof etag }): Promise<{ kind: string }> =>
      store.writeRow(JOB, { token: '9' }, guard);

    expect(await write({ leaseId, ifMatch: old })).toStrictEqual({ kind: 'refused' });
    expect(await write({ leaseId: newLeaseId(), ifMatch: etag })).toStrictEqual({ kind: 'refused' });
    expect(await write({ leaseId: newLeaseId(), ifMatch: old })).toStrictEqual({ kind: 'refused' });
    expect((await readRow(store)).metadata).toStrictEqual({ token: '1' });
    expect(await write({ leaseId, ifMatch: etag })).toMatchObject({ kind: 'written' });
  });

  test('a write without a lease on the row is refused, also with the id of one that was released', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    expect(await store.writeRow(JOB, { token: '9' }, { leaseId: newLeaseId(), ifMatch })).toStrictEqual({
      kind: 'refused',
    });
    const leaseId = await acquire(store, ifMatch);
    expect(await store.release(JOB, leaseId)).toBe('released');
    expect(await store.writeRow(JOB, { token: '9' }, { leaseId, ifMatch })).toStrictEqual({ kind: 'refused' });
    expect((await readRow(store)).metadata).toStrictEqual({ token: '0' });
  });

  test('a write to a row that is not there is refused', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    expect(
      await store.writeRow('other-job' as typeof JOB, { token: '9' }, { leaseId: newLeaseId(), ifMatch }),
    ).toStrictEqual({ kind: 'refused' });
  });
}

function claims(test: Test): void {
  test('of many executions of one attempt one writes, since the ETag fits once', async ({ open }) => {
    const ifMatch = await createRow(open());
    const leaseId = await acquire(open(), ifMatch);
    const answers = await Promise.all(
      times(20, (index) => open().writeRow(JOB, { token: '1', execution: `x${index}` }, { leaseId, ifMatch })),
    );
    expect(tally(answers.map(({ kind }) => kind))).toStrictEqual({ written: 1, refused: 19 });
    const winner = answers.findIndex(({ kind }) => kind === 'written');
    expect(await readRow(open())).toMatchObject({ ...etagOf(answers[winner]), metadata: { execution: `x${winner}` } });
  });

  test('a lease handed to another process is written under there, once', async ({ open, writeRowElsewhere }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const answer = await writeRowElsewhere(JOB, { token: '1', execution: 'elsewhere' }, { leaseId, ifMatch });
    expect(answer.kind).toBe('written');
    expect(await store.writeRow(JOB, { token: '1', execution: 'here' }, { leaseId, ifMatch })).toStrictEqual({
      kind: 'refused',
    });
    expect(await writeRowElsewhere(JOB, { token: '1', execution: 'again' }, { leaseId, ifMatch })).toStrictEqual({
      kind: 'refused',
    });
    expect(await readRow(store)).toStrictEqual({
      ...etagOf(answer),
      lease: 'leased',
      metadata: { token: '1', execution: 'elsewhere' },
    });
  });

  test('a write whose answer was lost is refused when asked again, and told by reading back', async ({ open }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const claim = { token: '1', execution: 'mine' };
    const etag = await writeRow(store, { leaseId, ifMatch }, claim);
    expect(await store.writeRow(JOB, claim, { leaseId, ifMatch })).toStrictEqual({ kind: 'refused' });
    expect(await readRow(store)).toStrictEqual({ etag, lease: 'leased', metadata: claim });
  });

  test('the date of a write is the service’s, in whole seconds', async ({ open, now }) => {
    const store = open();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const answer = await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
    const date = answer.kind === 'written' ? answer.date : NaN;
    expect(date % 1000).toBe(0);
    expect(Math.abs(date - now())).toBeLessThan(10_000);
  });
}

function etagOf(answer: object | undefined): { etag: unknown } {
  return { etag: answer !== undefined && 'etag' in answer ? answer.etag : 'none' };
}
