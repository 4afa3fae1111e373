import { afterAll, beforeAll, expect, it } from 'vitest';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { type Collector, startCollector } from '../support/otlp/collector';

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(async () => {
  endAll();
  await collector.close();
});

it('an instance that is shut down sends what is left', async () => {
  const app = coordinatedApp({ often: { schedule: '* * * * * *', handler: 'mark' } }, { exports: true });
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  };
  const dev = startDev(buildLocal(), { app: app.folder, instances: 1 }, { ...app.env, ...env });
  await dev.event(({ event }) => event === 'succeeded');
  expect(collector.points).toEqual([]);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
  const ended = dev.events.filter(({ event }) => event === 'succeeded').length;
  const [runs] = collector.latest('cronlease.runs');
  expect(runs?.value).toBeGreaterThanOrEqual(ended);
  expect(collector.spans.filter(({ name }) => name === 'cronlease.run').length).toBeGreaterThanOrEqual(ended);
  expect(collector.violations).toEqual([]);
});

it('a receiver that does not answer delays no shutdown, and is told of once', async () => {
  const app = coordinatedApp({ often: { schedule: '* * * * * *', handler: 'mark' } }, { exports: true });
  collector.refuseWith = 400;
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_METRICS_EXPORTER: 'none',
  };
  const dev = startDev(buildLocal(), { app: app.folder, instances: 1 }, { ...app.env, ...env });
  const { reason } = await dev.event(({ event }) => event === 'warning');
  expect(reason).toMatch(/^traces for OTLP could not be sent: /);
  await dev.event(({ event }) => event === 'succeeded');
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
  expect(dev.events.filter(({ event, reason: why }) => event === 'warning' && why === reason)).toHaveLength(1);
});
