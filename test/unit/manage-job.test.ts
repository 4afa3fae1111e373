import { expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';

/** What a page shows that reads the back-fill whenever the job that it follows has changed. */
async function shownAtTheEnd(latencyMs: number): Promise<unknown> {
  const { sim, send } = manageBench({
    jobs: [jobSpec('a', '* * * * *')],
    handler: ({ trigger }) => {
      if (trigger === 'schedule') throw new NonRetryableError('down');
    },
    deployments: 1,
    sweepIntervalMs: 1_000,
    latencyMs,
  });
  await sim.clock.advance(12 * 60_000 + 10_000);
  const span = { from: '2026-01-01T00:02:30Z', to: '2026-01-01T00:06:30Z', note: 'repaired' };
  await send({ method: 'POST', path: 'jobs/a/backfill', body: span, as: 'operator' });
  let etag: string | undefined;
  let shown: unknown;
  for (let polls = 0; polls < 40; polls += 1) {
    await sim.clock.advance(1_000);
    const job = await send({ path: 'jobs/a', as: 'viewer' });
    if (job.headers['etag'] === etag) continue;
    etag = job.headers['etag'];
    shown = (await send({ path: 'jobs/a/backfill', as: 'viewer' })).json;
  }
  return shown;
}

it('a page that follows a job learns that its back-fill is done', async () => {
  for (let latencyMs = 5; latencyMs < 200; latencyMs += 20) {
    expect(await shownAtTheEnd(latencyMs)).toMatchObject({ backfill: { state: 'done', outcomes: { succeeded: 4 } } });
  }
});

it('the answer to a job has the address of its call without the query, which may have a key', async () => {
  const call = { url: 'https://billing.example.com/close?code=%KEY%', method: 'POST', headers: {} } as const;
  const { sim, send } = manageBench({ jobs: [jobSpec('a', '@daily', { call }), jobSpec('b', '@daily')] });
  await sim.clock.advance(60_000);
  const callOf = async (job: string): Promise<unknown> => (await send({ path: `jobs/${job}`, as: 'viewer' })).json;
  expect(await callOf('a')).toMatchObject({ settings: { call: 'POST https://billing.example.com/close' } });
  expect(await callOf('b')).toMatchObject({ settings: { call: null } });
});
