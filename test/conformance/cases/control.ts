import { expect } from 'vitest';
import type { ETag } from '../../../src/core/brand';
import type { LeaseStore } from '../../../src/lease/store';
import type { Test } from '../suite';
import { acquire, createRow, JOB, readRow, tally, times } from './support';

/** What people want of a job. */
export function controlCases(test: Test): void {
  test('is absent at first, and the answer is dated all the same', async ({ open, now }) => {
    const { control, date } = await open().readControl(JOB);
    expect(control).toBeUndefined();
    expect(date % 1000).toBe(0);
    expect(Math.abs(date - now())).toBeLessThan(10_000);
  });

  test('is created only if there is none', async ({ open }) => {
    const store = open();
    expect(await store.writeControl(JOB, { by: 'ann' }, undefined)).toBe('written');
    expect(await store.writeControl(JOB, { by: 'bob' }, undefined)).toBe('refused');
    expect((await store.readControl(JOB)).control?.metadata).toStrictEqual({ by: 'ann' });
  });

  test('is replaced by whoever has read it last', async ({ open, now }) => {
    const store = open();
    await store.writeControl(JOB, { by: 'ann', note: 'first' }, undefined);
    const etag = await etagOf(store);
    expect(await store.writeControl(JOB, { by: 'bob' }, etag)).toBe('written');
    expect(await store.writeControl(JOB, { by: 'eve' }, etag)).toBe('refused');
    const { control, date } = await store.readControl(JOB);
    expect(control?.metadata).toStrictEqual({ by: 'bob' });
    expect(control?.etag).not.toBe(etag);
    expect(Math.abs(date - now())).toBeLessThan(10_000);
  });

  test('of many writers side by side one wins, at its creation and later', async ({ open }) => {
    const race = (ifMatch: ETag | undefined): Promise<string[]> =>
      Promise.all(times(20, (index) => open().writeControl(JOB, { by: `p${index}` }, ifMatch)));
    const created = await race(undefined);
    expect(tally(created)).toStrictEqual({ written: 1, refused: 19 });
    const replaced = await race(await etagOf(open()));
    expect(tally(replaced)).toStrictEqual({ written: 1, refused: 19 });
    const winner = replaced.indexOf('written');
    expect((await open().readControl(JOB)).control?.metadata).toStrictEqual({ by: `p${winner}` });
  });

  test('cannot be replaced where there is none', async ({ open }) => {
    const store = open();
    const foreign = await createRow(store);
    expect(await store.writeControl(JOB, { by: 'ann' }, foreign)).toBe('refused');
    expect((await store.readControl(JOB)).control).toBeUndefined();
  });

  test('and the row leave each other alone: a lease does not hinder its writers', async ({ open }) => {
    const store = open();
    const etag = await createRow(store);
    await acquire(store, etag);
    expect(await open().writeControl(JOB, { cancel: 'run' }, undefined)).toBe('written');
    expect(await readRow(store)).toStrictEqual({ etag, lease: 'leased', metadata: { token: '0' } });
  });
}

async function etagOf(store: LeaseStore): Promise<ETag> {
  const { control } = await store.readControl(JOB);
  if (control === undefined) throw new Error(`no control of ${JOB}`);
  return control.etag;
}
