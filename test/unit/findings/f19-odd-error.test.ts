import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

it.each([
  ['message', { message: { code: 17 } }],
  ['stack', { stack: [{ file: 'a', line: 1 }] }],
])('an Error whose %s is no text fails its attempt like any other', async (_what, odd) => {
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { retry: { attempts: 2, backoffMs: 5_000, factor: 1, maxBackoffMs: 5_000, jitter: 'none' } })],
    handler: () => {
      throw Object.assign(new Error('no'), odd);
    },
  });
  await sim.clock.advance(3_600_000 + 30_000);
  expect((await sim.records('a')).map(({ outcome, reason }) => [outcome, reason])).toEqual([['failed', 'handlerError']]);
});
