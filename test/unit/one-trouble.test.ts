import { describe, expect, it } from 'vitest';
import { type JobSpec, NOTICE_TOPICS, type NotifySettings } from '../../src/core/job';
import { NonRetryableError } from '../../src/handler/handler';
import { jobSpec } from '../support/job';
import { fakeReceiver } from '../support/receivers';
import { type SimulationOptions, rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOTIFY: NotifySettings = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };

type Handler = NonNullable<SimulationOptions['handler']>;

const no = (): never => {
  throw new NonRetryableError('no');
};

describe('a job that is overdue', () => {
  const outage = (settings: Partial<JobSpec>, handler: Handler) => {
    const ops = fakeReceiver();
    const jobs = [jobSpec('a', '@hourly', { notify: NOTIFY, alertAfterMs: 90 * MINUTE, ...settings })];
    return { ops, sim: rivalTicks({ jobs, deployments: 3, outlet: ops.outlet, handler }) };
  };
  const failsUntil =
    (hours: number): Handler =>
    ({ scheduledFor }) =>
      scheduledFor.getTime() < T0 + hours * HOUR ? no() : undefined;
  const changes = ({ received }: ReturnType<typeof fakeReceiver>): string[] =>
    received.map(({ type }) => type.replace('cronlease.job.', ''));

  it('and whose failures are told is no news: one trouble, one end', async () => {
    const { ops, sim } = outage({}, failsUntil(5));
    await sim.clock.advance(12 * HOUR);
    expect(changes(ops)).toEqual(['failed', 'recovered']);
  });

  it('and told so, and that fails, is no news either: one trouble, one end', async () => {
    const { ops, sim } = outage({ notify: { ...NOTIFY, after: 3 } }, failsUntil(5));
    await sim.clock.advance(12 * HOUR);
    expect(changes(ops)).toEqual(['overdue', 'recovered']);
  });

  it('is told to be punctual where no failure was told', async () => {
    const { ops, sim } = outage({ notify: { ...NOTIFY, after: 9 } }, failsUntil(5));
    await sim.clock.advance(12 * HOUR);
    expect(changes(ops)).toEqual(['overdue', 'punctual']);
  });

  it('is told again in the next outage', async () => {
    const { ops, sim } = outage({ notify: { ...NOTIFY, after: 3 } }, ({ scheduledFor }) => {
      const hour = (scheduledFor.getTime() - T0) / HOUR;
      return hour < 5 || (hour > 8 && hour < 11) ? no() : undefined;
    });
    await sim.clock.advance(20 * HOUR);
    expect(changes(ops)).toEqual(['overdue', 'recovered', 'overdue', 'punctual']);
  });
});
