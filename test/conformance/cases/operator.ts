import { expect } from 'vitest';
import type { ETag } from '../../../src/core/brand';
import type { LeaseStore } from '../../../src/lease/store';
import type { Test } from '../suite';
import { JOB, readRow } from './support';

/** What operators do beside writing control records. */
export function removalCases(test: Test): void {
  test('a control is removed by whoever has read it last', async ({ open }) => {
    const store = open();
    expect(await store.removeControl(JOB, '"0x1"' as ETag)).toBe('refused');
    await store.writeControl(JOB, { by: 'ann' }, undefined);
    const old = await controlTag(store);
    await store.writeControl(JOB, { by: 'bob' }, old);
    expect(await open().removeControl(JOB, old)).toBe('refused');
    expect(await open().removeControl(JOB, await controlTag(store))).toBe('removed');
    expect((await store.readControl(JOB)).control).toBeUndefined();
    expect(await store.writeControl(JOB, { by: 'eve' }, undefined)).toBe('written');
  });
}

/** What deployments write of themselves. */
export function presenceCases(test: Test): void {
  test('a deployment is present once it has said so, and tells whether another one has spoken for it', async ({
    open,
    now,
  }) => {
    const store = open();
    const first = await store.listPresences();
    expect(first.presences.size).toBe(0);
    expect(Math.abs(first.date - now())).toBeLessThan(10_000);
    const one = await store.writePresence('east', { hub: 'one' }, undefined);
    if (one.kind === 'refused') throw new Error('refused');
    expect(await open().writePresence('east', { hub: 'two' }, one.etag)).toMatchObject({ kind: 'written' });
    expect(await store.writePresence('east', { hub: 'three' }, one.etag)).toEqual({ kind: 'refused' });
    expect(await store.writePresence('never', { hub: 'three' }, one.etag)).toEqual({ kind: 'refused' });
    expect(await store.writePresence('east', { hub: 'four' }, undefined)).toMatchObject({ kind: 'written' });
    const { presences } = await open({ pageSize: 1 }).listPresences();
    expect([...presences].map(([name, { metadata }]) => [name, metadata])).toEqual([['east', { hub: 'four' }]]);
  });

  test('a deployment may have any name', async ({ open }) => {
    const store = open();
    const names = ['a/b/', 'end.', '..', 'x%2F?#&+u', 'A~!$\'()*,;=:@[]"<>^`{|}\\', 'x'.repeat(100)];
    for (const name of names) await store.writePresence(name, { name }, undefined);
    const { presences } = await open({ pageSize: 2 }).listPresences();
    expect(presences.size).toBe(names.length);
    for (const [name, { metadata }] of presences) expect(metadata).toEqual({ name });
    expect((await store.list()).jobs.size).toBe(0);
    await expect(readRow(store)).rejects.toThrow('no row');
  });
}

async function controlTag(store: LeaseStore): Promise<ETag> {
  const { control } = await store.readControl(JOB);
  if (control === undefined) throw new Error('no control');
  return control.etag;
}
