import { expect } from 'vitest';
import type { Test } from '../suite';
import { tally, times } from './support';

/** The inputs of requests. */
export function requestCases(test: Test): void {
  test('an input is absent until created, and created once', async ({ open }) => {
    const store = open();
    expect(await store.readRequest('abc')).toBeUndefined();
    expect(await store.createRequest('abc', '{"day":"é漢😀"}')).toBe('created');
    expect(await store.createRequest('abc', '{}')).toBe('exists');
    expect(await open().readRequest('abc')).toBe('{"day":"é漢😀"}');
    expect(await store.readRequest('ab')).toBeUndefined();
  });

  test('of many creators of one input side by side one creates it', async ({ open }) => {
    const answers = await Promise.all(times(10, (index) => open().createRequest('r1', `"by${String(index)}"`)));
    expect(tally(answers)).toStrictEqual({ created: 1, exists: 9 });
    expect(await open().readRequest('r1')).toBe(`"by${String(answers.indexOf('created'))}"`);
  });

  test('a listing of jobs does not show it', async ({ open }) => {
    const store = open();
    await store.createRequest('abc', '{}');
    const { jobs, strays } = await store.list();
    expect(jobs.size).toBe(0);
    expect(strays).toBeUndefined();
  });
}
