import type { Millis } from '../core/brand';

type Settings = Readonly<Record<string, string | undefined>>;

export interface TelemetryPlan {
  /** The app has set up OpenTelemetry by itself: nothing but the API is loaded. */
  readonly isApps: boolean;
  /** By OTLP, to the collector that its own settings name. */
  readonly otlp: Signals;
  readonly azure: Signals & { readonly connectionString: string; readonly authentication: string | undefined };
  /** The time between two exports of metrics. */
  readonly everyMs: Millis;
  /** How many jobs have their own name in metrics. */
  readonly jobs: number;
  /** What cannot be done as it is set. The rest is. */
  readonly problems: readonly string[];
}

/** For an SDK of only cronlease. Apps see this type, and may lack the packages whose types are beside that SDK. */
export interface OwnSdk {
  /** Attributes of the resource, such as the name of the app and the region. */
  readonly resource: Readonly<Record<string, string>>;
  /** Receives what keeps metrics or traces from their receiver, once until it works again. */
  readonly onProblem: (problem: string) => void;
}

interface Signals {
  readonly metrics: boolean;
  readonly traces: boolean;
}

export const PRESET_JOBS = 100;
export const MOST_JOBS = 10_000;
const PRESET_EVERY_MS = 60_000;
const PROTOCOL = 'http/protobuf';
const NONE: Signals = { metrics: false, traces: false };

export class TelemetrySettingError extends Error {
  readonly code = 'InvalidSetting';
  override readonly name = 'TelemetrySettingError';

  constructor(
    readonly setting: string,
    readonly value: string,
    readonly remedy: string,
  ) {
    super(`App setting ${setting} is ${JSON.stringify(value)}: ${remedy}`);
  }
}

/** Undefined: nothing is to be exported. Throws `TelemetrySettingError`. It loads nothing. */
export function telemetryPlan(env: Settings): TelemetryPlan | undefined {
  const mode = modeOf(env);
  const jobs = metricsJobs(env);
  if (mode === 'off' || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  const wanted = signalsOf(env);
  const connectionString = env['APPLICATIONINSIGHTS_CONNECTION_STRING'] ?? '';
  const authentication = env['APPLICATIONINSIGHTS_AUTHENTICATION_STRING'];
  const { otlp, problems } = mode === 'app' ? { otlp: NONE, problems: [] } : otlpOf(env, wanted);
  const azure = mode === 'app' || connectionString === '' ? NONE : wanted;
  const isAny = [otlp, azure].some(({ metrics, traces }) => metrics || traces);
  if (mode !== 'app' && !isAny && problems.length === 0) return undefined;
  return {
    isApps: mode === 'app',
    otlp,
    jobs,
    problems,
    everyMs: everyOf(env),
    azure: { ...azure, connectionString, authentication },
  };
}

function modeOf(env: Settings): 'auto' | 'off' | 'app' {
  const name = 'CRONLEASE_TELEMETRY';
  const text = env[name] || 'auto';
  if (text === 'auto' || text === 'off' || text === 'app') return text;
  throw new TelemetrySettingError(name, text, 'use "auto", "off" or "app"');
}

/** By the settings of OpenTelemetry: `none` turns a signal off. */
function signalsOf(env: Settings): Signals {
  return { metrics: env['OTEL_METRICS_EXPORTER'] !== 'none', traces: env['OTEL_TRACES_EXPORTER'] !== 'none' };
}

function otlpOf(env: Settings, wanted: Signals): { readonly otlp: Signals; readonly problems: readonly string[] } {
  const hasEndpoint = (signal: 'METRICS' | 'TRACES'): boolean =>
    Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
  const problems: string[] = [];
  const one = (signal: 'METRICS' | 'TRACES', isWanted: boolean): boolean => {
    if (!isWanted || !hasEndpoint(signal)) return false;
    const setting = [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL'].find((name) => env[name]);
    if (setting === undefined || env[setting] === PROTOCOL) return true;
    const problem = `${setting} is ${JSON.stringify(env[setting])}, and cronlease sends only ${PROTOCOL}`;
    problems.push(`no ${signal.toLowerCase()} are sent by OTLP: ${problem}. Set it to ${PROTOCOL}, or remove it`);
    return false;
  };
  return { otlp: { metrics: one('METRICS', wanted.metrics), traces: one('TRACES', wanted.traces) }, problems };
}

/** As the SDKs of OpenTelemetry read it: milliseconds. A value that is none is ignored, as they do. */
function everyOf(env: Settings): Millis {
  const text = env['OTEL_METRIC_EXPORT_INTERVAL'] ?? '';
  return /^[1-9]\d{2,8}$/.test(text) ? Number(text) : PRESET_EVERY_MS;
}

/** How many jobs have their own name in metrics. Throws {@link TelemetrySettingError}. */
export function metricsJobs(env: Settings): number {
  const name = 'CRONLEASE_METRICS_JOBS';
  const text = env[name];
  if (text === undefined || text === '') return PRESET_JOBS;
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= MOST_JOBS) return value;
  throw new TelemetrySettingError(name, text, `use a whole number from 0 to ${MOST_JOBS}`);
}
