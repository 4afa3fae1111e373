import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinator/coordinator';
import { ATTEMPT, ITEMS, RUN } from '../../src/functions/orchestrator';
import { type LevelLog, reportTo } from '../../src/functions/report';
import { telemetryPlan } from '../../src/telemetry/settings';
import { type HostLevel, hostLogging, isLogged, levelOf } from '../support/host-levels';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const ROOT = path.join(__dirname, '../..');
const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
/** What a record has in a workspace beside its message: times, ids, names and custom dimensions. */
const RECORD_BYTES = 700;
const ID = '0b6f0f6e-3f0a-4a5e-9a53-0f1c2d3e4f50';
const INSTANCE = `nightly-20260101T000000Z-${ID.slice(0, 8)}`;

interface Line {
  readonly category: string;
  readonly level: HostLevel;
  readonly message: string;
}

/** A call of a function. https://learn.microsoft.com/azure/azure-functions/configure-monitoring#configure-categories */
const callOf = (name: string): readonly Line[] =>
  [
    `Executing 'Functions.${name}' (Reason='(null)', Id=${ID})`,
    `Executed 'Functions.${name}' (Succeeded, Id=${ID}, Duration=1234ms)`,
  ].map((message) => ({ category: `Function.${name}`, level: 'Information', message }));

/** A step that Durable 3.19 tracks: seen on the real host, in the category of the function. */
const step = (name: string, kind: string, state: string): Line => ({
  category: `Function.${name}.User`,
  level: 'Information',
  message:
    `${INSTANCE}: Function '${name} (${kind})' ${state}. IsReplay: False. State: ${state}. RuntimeStatus: Running. ` +
    `HubName: cronleasenortheurope. AppName: func-cronlease-northeurope-abc123. SlotName: Production. ` +
    'ExtensionVersion: 3.19.0. SequenceNumber: 42. TaskEventId: 0',
});

/** What the host and Durable log for a run: two turns of the orchestrator, and the activity between them. */
const OF_THE_HOST: readonly Line[] = [
  ...callOf(RUN),
  ...callOf(ATTEMPT),
  ...callOf(RUN),
  step(RUN, 'Orchestrator', 'scheduled'),
  step(RUN, 'Orchestrator', 'started'),
  step(ATTEMPT, 'Activity', 'scheduled'),
  step(ATTEMPT, 'Activity', 'started'),
  step(ATTEMPT, 'Activity', 'completed'),
  step(RUN, 'Orchestrator', 'completed'),
  ...['DurableTask.AzureStorage', 'DurableTask.Core', 'Host.Triggers.DurableTask'].map((category): Line => ({
    category,
    level: 'Information',
    message: `${INSTANCE}: a message was sent`,
  })),
  // Counts and times of each function, every 30 s.
  ...[RUN, ATTEMPT].flatMap((name) =>
    ['Count', 'Successes', 'Failures', 'SuccessRate', 'AvgDurationMs', 'MinDurationMs', 'MaxDurationMs'].map(
      (metric): Line => ({ category: 'Host.Aggregator', level: 'Information', message: `${name} ${metric}` }),
    ),
  ),
  { category: 'Host.Results', level: 'Information', message: `request ${ATTEMPT}` },
];

/** What cronlease itself logs for a run, with all its attempts, whose handler writes one line. */
async function ownLines(logs: 'keep' | 'host', handler: () => Promise<void>): Promise<readonly Line[]> {
  const spec = jobSpec('nightly', '*/10 * * * *', { logs });
  const sim = rivalTicks({ jobs: [spec], handler: (context) => (context.log('done'), handler()) });
  await sim.clock.advanceTo(T0 + 15 * MINUTE);
  const runs = sim.events.filter(({ scheduledFor }) => scheduledFor === T0 + 10 * MINUTE);
  expect(runs.map(({ event }) => event)).toEqual(expect.arrayContaining(['claimed', 'started']));
  const lines: Line[] = [];
  const at =
    (level: HostLevel) =>
    (...message: unknown[]): void =>
      void lines.push({ category: `Function.${ATTEMPT}.User`, level, message: message.join(' ') });
  const call: LevelLog = { debug: at('Debug'), info: at('Information'), warn: at('Warning'), error: at('Error') };
  const coordinator = {
    deployment: 'func-cronlease-northeurope-abc123',
    serviceTime: { now: () => T0 },
    jobs: new Map([[spec.name, { spec }]]),
  } as unknown as Coordinator;
  const report = reportTo(call, { coordinator, feed: undefined, isJson: false });
  for (const event of runs) report.event(event);
  report.log(report.raised?.('info', spec.name) ?? 'info', '[nightly] done');
  return lines;
}

/** The bytes of what the host lets through. */
function bytesOf(lines: readonly Line[], logging = hostLogging()): number {
  return lines
    .filter(({ category, level }) => isLogged(logging, category, level))
    .reduce((sum, { message }) => sum + RECORD_BYTES + message.length, 0);
}

const fails = (): Promise<void> => Promise.reject(new Error('no rows'));
const succeeds = (): Promise<void> => Promise.resolve();

describe('what a run writes to Application Insights at the levels of host.json', () => {
  it('is nothing if it succeeds', async () => {
    expect(bytesOf([...OF_THE_HOST, ...(await ownLines('keep', succeeds))])).toBe(0);
  });

  it('is at most 3 KB if it fails, and names the failure', async () => {
    const own = await ownLines('keep', fails);
    const bytes = bytesOf([...OF_THE_HOST, ...own]);
    expect(bytes).toBeGreaterThan(RECORD_BYTES);
    expect(bytes).toBeLessThanOrEqual(3_000);
    const shown = own.filter(({ category, level }) => isLogged(hostLogging(), category, level));
    expect(shown.map(({ message }) => message).join('\n')).toContain('"event":"failed"');
  });

  it('has its start, its end and its lines if the job has `logs` `host`: about 4 KB', async () => {
    const bytes = bytesOf([...OF_THE_HOST, ...(await ownLines('host', succeeds))]);
    expect(bytes).toBeGreaterThan(4 * RECORD_BYTES);
    expect(bytes).toBeLessThan(4_500);
  });

  it('would be over 20 KB with the levels that the host has without host.json', async () => {
    const stock = { logLevel: { default: 'Information' } } as const;
    expect(bytesOf([...OF_THE_HOST, ...(await ownLines('keep', succeeds))], stock)).toBeGreaterThan(20_000);
  });

  it('has nothing besides lines: no dependencies of the host, no traces of Durable, no spans, no log of writes', () => {
    expect(hostLogging().applicationInsights).toMatchObject({
      ...{ enableDependencyTracking: false, enablePerformanceCountersCollection: false },
    });
    expect(readFileSync(path.join(ROOT, 'host.json'), 'utf8')).not.toContain('distributedTracing');
    const main = readFileSync(path.join(ROOT, 'infra/main.bicep'), 'utf8');
    expect(main).toContain("param telemetry string = 'off'");
    expect(telemetryPlan({ CRONLEASE_TELEMETRY: 'off', APPLICATIONINSIGHTS_CONNECTION_STRING: 'x' })).toBeUndefined();
    expect(main).toContain('param logWrites bool = false');
  });

  it('keeps what the alerts read, and what a developer wants to see under func', () => {
    const logging = hostLogging();
    for (const category of ['Function.cronleaseTick', 'Function.cronleaseTick.User', 'Function.cronleaseHealth.User']) {
      expect(levelOf(logging, category)).toBe('Information');
    }
    for (const file of ['local.settings.sample.json', 'template/settings.json']) {
      const { Values } = JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as {
        Values: Record<string, HostLevel>;
      };
      const level = Values['AzureFunctionsJobHost__logging__logLevel__Function'] ?? 'None';
      const local = { logLevel: { ...logging.logLevel, Function: level } };
      for (const name of [RUN, ITEMS, ATTEMPT])
        expect(isLogged(local, `Function.${name}.User`, 'Information')).toBe(true);
    }
  });
});
