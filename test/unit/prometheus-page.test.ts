import { describe, expect, it } from 'vitest';
import { deploymentSamples } from '../../src/telemetry/row-gauges';
import { prometheusText } from '../../src/manage/about-routes';
import { jobSpec } from '../support/job';
import { keyOfRole, manageBench } from '../support/manage';

const HOUR = 3_600_000;

/** The values of a page, by their names with labels. */
function valuesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, name = '', value = ''] = /^(\S+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      return [name, Number(value)];
    }),
  );
}

function bench() {
  const jobs = [
    jobSpec('good', '*/10 * * * *', { alertAfterMs: HOUR }),
    jobSpec('bad', '0 * * * *', { alertAfterMs: HOUR / 2, retry: { ...jobSpec('x', '@daily').retry, attempts: 1 } }),
    jobSpec('off', '* * * * *', { enabled: false }),
  ];
  return manageBench({
    jobs,
    handler: ({ job }) => {
      if (job === 'bad') throw new Error('refused');
    },
  });
}

/** Works until it is stopped. */
function hold(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

describe('the page for Prometheus', () => {
  it('shows what the rows have, in the text format', async () => {
    const { sim, send, bugs } = bench();
    await sim.clock.advance(2 * HOUR + 25 * 60_000);
    const { status, headers, text } = await send({ path: 'metrics', as: 'viewer' });
    expect(bugs).toEqual([]);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toMatch(/^# HELP cronlease_jobs Jobs in each state\.\n# TYPE cronlease_jobs gauge\n/);
    expect(text.endsWith('\n')).toBe(true);
    const values = valuesOf(text);
    expect(values.get('cronlease_jobs{cronlease_state="overdue"}')).toBe(1);
    expect(values.get('cronlease_jobs{cronlease_state="disabled"}')).toBe(1);
    expect(values.get('cronlease_job_failures{cronlease_job="bad"}')).toBe(2);
    expect(values.get('cronlease_job_overdue{cronlease_job="bad"}')).toBe(1);
    expect(values.get('cronlease_job_overdue{cronlease_job="good"}')).toBe(0);
    expect(values.has('cronlease_job_overdue{cronlease_job="off"}')).toBe(false);
    expect(values.get('cronlease_job_last_success_age_seconds{cronlease_job="good"}')).toBeCloseTo(300, -1);
    expect(values.get('cronlease_due_times_overdue{cronlease_job="good"}')).toBe(0);
  });

  it('counts the due times that nobody claims', async () => {
    const { sim, send } = bench();
    await sim.clock.advance(HOUR + 60_000);
    for (const instance of sim.instances) instance.kill();
    await sim.clock.advance(35 * 60_000);
    const values = valuesOf((await send({ path: 'metrics', as: 'viewer' })).text);
    expect(values.get('cronlease_due_times_overdue{cronlease_job="good"}')).toBe(3);
    expect(values.get('cronlease_due_times_overdue{cronlease_job="off"}')).toBe(0);
  });

  it.each(['skip', 'queue'] as const)(
    'counts no due time that waits for the end of a run in progress, with overlap %s',
    async (overlap) => {
      const jobs = [jobSpec('long', '* * * * *', { overlap, timeoutMs: HOUR })];
      const { sim, send } = manageBench({
        ...{ jobs, deployments: 1 },
        handler: ({ signal }) => hold(signal),
      });
      await sim.clock.advance(15 * 60_000);
      const values = valuesOf((await send({ path: 'metrics', as: 'viewer' })).text);
      expect(values.get('cronlease_due_times_overdue{cronlease_job="long"}')).toBe(0);
    },
  );

  it('shares the listings of a sweep with the overview', async () => {
    const { sim, send, calls } = bench();
    await sim.clock.advance(HOUR);
    calls.clear();
    await send({ path: 'jobs', as: 'viewer' });
    await send({ path: 'metrics', as: 'viewer' });
    expect(Object.fromEntries(calls)).toEqual({ list: 1, listPresences: 1 });
    await sim.clock.advance(60_000);
    await send({ path: 'metrics', as: 'viewer' });
    await send({ path: 'metrics', as: 'viewer' });
    expect(Object.fromEntries(calls)).toEqual({ list: 2, listPresences: 2 });
  });

  it('takes a key as a password below keyed/, and nowhere else', async () => {
    const { send } = bench();
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    const status = async (path: string, headers: Readonly<Record<string, string>>) =>
      (await send({ path, headers })).status;
    expect(await status('keyed/metrics', basic(`prometheus:${keyOfRole('viewer')}`))).toBe(200);
    expect(await status('metrics', basic(`prometheus:${keyOfRole('viewer')}`))).toBe(401);
    expect(await status('keyed/metrics', basic('prometheus:a guess'))).toBe(401);
    expect(await status('keyed/metrics', basic(keyOfRole('viewer')))).toBe(401);
    expect(await status('keyed/metrics', { authorization: `Bearer ${keyOfRole('viewer')}` })).toBe(401);
    expect(await status('keyed/metrics', {})).toBe(401);
    // A wrong key in the header is never ignored.
    expect(await status('keyed/metrics', { ...basic(`p:${keyOfRole('viewer')}`), 'x-cronlease-key': 'a guess' })).toBe(
      401,
    );
  });

  it('escapes the names of deployments', () => {
    const deployment = { name: 'a"b\\c', skewMs: 0, tickedAt: 0 } as Parameters<typeof deploymentSamples>[0][number];
    expect(prometheusText(deploymentSamples([deployment], 1_500))).toContain(
      'cronlease_deployment_tick_age_seconds{cronlease_deployment="a\\"b\\\\c"} 1.5\n',
    );
  });
});
