import { format } from 'node:util';
import type { Coordinator, Report, Speaker } from '../coordinator/coordinator';
import type { JobName } from '../core/brand';
import { type CoordinatorEvent, formatEvent } from '../core/event';
import { isoOf } from '../core/iso';
import type { LogLevel } from '../core/log-entry';
import type { Feed } from '../telemetry/feed';
import type { Environment } from './app-settings';
import { SettingError } from './settings';

/** The events that are logged as warnings. host.json lets no others of an attempt through: its runs succeed without a line. */
const TROUBLED = new Set([
  'retrying',
  'failed',
  'timedOut',
  'stalled',
  'takenOver',
  'superseded',
  'overdue',
  'clockSkew',
  'unhealthy',
  'overloaded',
  'warning',
  'noticeLost',
]);

interface Reporting {
  readonly coordinator: Coordinator;
  /** Undefined: nothing is exported. */
  readonly feed: Feed | undefined;
  readonly isJson: boolean;
}

/** Receives lines by their level: an invocation of the Functions host, `console`, or another logger. */
export type LevelLog = Readonly<Record<LogLevel, (...message: unknown[]) => void>>;

/** A log whose lines `write` takes. */
export function levelLog(write: (level: LogLevel, message: readonly unknown[]) => void): LevelLog {
  const at =
    (level: LogLevel) =>
    (...message: unknown[]): void =>
      write(level, message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export type ReportOf = (coordinator: Coordinator) => Report;

export interface HostCall extends LevelLog {
  /** Undefined where calls have no ids. */
  readonly invocationId?: string | undefined;
  readonly traceContext?: { readonly traceParent?: string | undefined } | undefined;
}

export function reportTo(call: HostCall, { coordinator, feed, isJson }: Reporting): Report {
  const { deployment, serviceTime } = coordinator;
  const raised = (level: LogLevel, job: JobName): LogLevel =>
    level === 'info' && coordinator.jobs.get(job)?.spec.logs === 'host' ? 'warn' : level;
  const event = (one: CoordinatorEvent): void => {
    feed?.event(one);
    const traceId = one.runId === undefined ? undefined : feed?.traceId(one.runId);
    const told = traceId === undefined ? one : { ...one, traceId };
    const level = TROUBLED.has(one.event) ? 'warn' : 'info';
    call[one.job === undefined ? level : raised(level, one.job)](formatEvent(told, deployment));
  };
  for (const reason of feed?.problems() ?? []) event({ event: 'warning', at: serviceTime.now(), reason });
  const line = (level: LogLevel, speaker: Speaker, message: readonly unknown[]): void => {
    const text = formatLine({ level, at: serviceTime.now(), deployment }, speaker, format(...message));
    call[raised(level, speaker.job)](text);
  };
  return {
    event,
    raised,
    log: (level, ...message) => call[level](...message),
    ...(isJson ? { line } : {}),
    ...(feed === undefined || call.invocationId === undefined
      ? {}
      : { invocation: { id: call.invocationId, traceparent: call.traceContext?.traceParent } }),
  };
}

function formatLine(
  { level, at, deployment }: { readonly level: LogLevel; readonly at: number; readonly deployment: string },
  { job, runId, attempt, item, traceparent }: Speaker,
  message: string,
): string {
  const traceId = traceparent?.split('-')[1];
  return JSON.stringify({ level, at: isoOf(at), deployment, job, runId, attempt, item, traceId, message });
}

/** Whether the lines of handlers are JSON. Throws {@link SettingError}. */
export function isJsonLog(env: Environment): boolean {
  const name = 'CRONLEASE_LOG_FORMAT';
  const text = env[name] || 'text';
  if (text !== 'text' && text !== 'json') throw new SettingError(name, text, 'use "text" or "json"');
  return text === 'json';
}
