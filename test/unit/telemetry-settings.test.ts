import { describe, expect, it } from 'vitest';
import { telemetryPlan } from '../../src/telemetry/settings';

const AZURE = { APPLICATIONINSIGHTS_CONNECTION_STRING: 'InstrumentationKey=1' };
const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const BOTH = { metrics: true, traces: true };
const NONE = { metrics: false, traces: false };

describe('the plan for metrics and traces', () => {
  it.each([
    ['nothing', {}],
    ['empty settings', { APPLICATIONINSIGHTS_CONNECTION_STRING: '', OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['off', { ...AZURE, ...OTLP, CRONLEASE_TELEMETRY: 'off' }],
    ["OpenTelemetry's own switch", { ...AZURE, ...OTLP, OTEL_SDK_DISABLED: 'TRUE' }],
    ['no signal', { ...AZURE, OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' }],
  ])('is none with %s', (_, env) => {
    expect(telemetryPlan(env)).toBeUndefined();
  });

  it('sends to each receiver that the settings name', () => {
    expect(telemetryPlan(OTLP)).toMatchObject({ isApps: false, otlp: BOTH, azure: NONE, everyMs: 60_000, jobs: 100 });
    expect(telemetryPlan(AZURE)).toMatchObject({
      otlp: NONE,
      azure: { ...BOTH, connectionString: 'InstrumentationKey=1' },
    });
    expect(telemetryPlan({ ...AZURE, ...OTLP })).toMatchObject({ otlp: BOTH, azure: BOTH });
  });

  it('sends one signal where the other one is turned off, or has no endpoint', () => {
    expect(telemetryPlan({ ...OTLP, OTEL_TRACES_EXPORTER: 'none' })).toMatchObject({
      otlp: { metrics: true, traces: false },
    });
    expect(telemetryPlan({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces/v1/traces' })).toMatchObject({
      otlp: { metrics: false, traces: true },
    });
  });

  it("leaves everything to the app's own SDK", () => {
    expect(telemetryPlan({ ...AZURE, ...OTLP, CRONLEASE_TELEMETRY: 'app' })).toMatchObject({
      ...{ isApps: true, otlp: NONE, azure: NONE },
    });
  });

  it('names a protocol that it does not have, and does the rest', () => {
    const plan = telemetryPlan({ ...AZURE, ...OTLP, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect(plan).toMatchObject({ otlp: NONE, azure: BOTH });
    expect(plan?.problems).toHaveLength(2);
    expect(plan?.problems[0]).toMatch(/OTEL_EXPORTER_OTLP_PROTOCOL is "grpc".*http\/protobuf/);
    // Without another receiver, the plan remains for its problems.
    expect(telemetryPlan({ ...OTLP, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.problems).toHaveLength(2);
    expect(telemetryPlan({ ...OTLP, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' })?.problems).toEqual([]);
  });

  it('reads the interval of exports, and how many jobs have a name', () => {
    const of = (env: Readonly<Record<string, string>>) => telemetryPlan({ ...OTLP, ...env });
    expect(of({ OTEL_METRIC_EXPORT_INTERVAL: '5000' })?.everyMs).toBe(5_000);
    expect(of({ OTEL_METRIC_EXPORT_INTERVAL: 'soon' })?.everyMs).toBe(60_000);
    expect(of({ CRONLEASE_METRICS_JOBS: '0' })?.jobs).toBe(0);
  });

  it.each([
    ['CRONLEASE_TELEMETRY', 'on'],
    ['CRONLEASE_METRICS_JOBS', '10001'],
    ['CRONLEASE_METRICS_JOBS', 'all'],
  ])('refuses %s=%s', (setting, value) => {
    expect(() => telemetryPlan({ [setting]: value })).toThrow(setting);
  });
});
