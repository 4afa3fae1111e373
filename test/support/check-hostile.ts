import fc from 'fast-check';
import { expect } from 'vitest';
import { Problem } from '../../src/manage/schema';
import { hostileRequests, MARK } from './hostile-requests';
import { jobSpec } from './job';
import { manageBench } from './manage';

const WITHIN_MS = 5_000;

/**
 * Sends hostile requests to the API over the memory store: each is answered in time, none by a failure of the app, and
 * none with a text of the request that a browser could take for markup. Returns how many got each status.
 */
export async function checkHostileRequests(numRuns: number, seed: number): Promise<ReadonlyMap<number, number>> {
  const jobs = [
    jobSpec('a', '* * * * *', { tags: ['a'] }),
    jobSpec('b', '@manual'),
    // It can be acknowledged, and its errors are hostile.
    jobSpec('f', '* * * * *', { retry: { ...jobSpec('f', '@manual').retry, attempts: 1 } }),
  ];
  const handler = ({ job }: { readonly job: string }): void => {
    if (job === 'f') throw new Error(MARK);
  };
  const { sim, send, bugs } = manageBench({ jobs, handler, deployments: 1, sweepIntervalMs: 5_000 });
  await sim.clock.advance(185_000);
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(hostileRequests(), async (request) => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('there was no answer')), WITHIN_MS);
      });
      const { status, text, headers, json } = await Promise.race([send(request), late]).finally(() => {
        clearTimeout(timer);
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect(bugs).toEqual([]);
      expect(status).toBeLessThan(500);
      expect(text).not.toMatch(/[<>&\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
      expect(JSON.stringify(headers)).not.toMatch(/alert|x-mark/);
      for (const value of Object.values(headers)) expect(value).toMatch(/^[\x20-\x7e]*$/);
      if (status >= 400 && text !== '') expect(Problem.parse(json).status).toBe(status);
      else if (text !== '') {
        expect(headers['content-type']).toMatch(/^(application\/json|text\/plain; version=0\.0\.4); charset=utf-8$/);
      }
    }),
    { numRuns, seed },
  );
  return statuses;
}
