import type { IdleResult } from '../measure/idle';
import type { KillResult } from '../measure/kill';
import type { LogsResult } from '../measure/logs';
import type { Result } from '../measure/result';
import type { ShortageResult } from '../measure/shortage';
import type { Starts } from '../measure/start';
import { milliseconds, perRun, seconds, share, totalCalls } from './numbers';

/** One run in one line. */
export function figuresLine({ figures, usage, runs, trouble }: Result): string {
  const { lateness, duplicates, misses, unrecorded } = figures;
  const calls = totalCalls(usage.calls);
  return [
    `late p50 ${milliseconds(lateness.p50)} p99 ${milliseconds(lateness.p99)} max ${milliseconds(lateness.max)} ms`,
    `${String(duplicates)} doubled`,
    `${String(misses)} missed${misses === unrecorded ? '' : ` (${String(unrecorded)} without a record)`}`,
    `CPU ${perRun(usage.workersCpuMs, runs)} + ${perRun(usage.backendCpuMs, runs)} ms a run`,
    ...(calls === undefined ? [] : [`${perRun(calls, runs)} calls a run`]),
    `${usage.workerMb.toFixed(0)} MB`,
    `${share(usage.othersShare)} of the machine used by others`,
    ...(trouble.lines === 0 ? [] : [`${String(trouble.lines)} lines of trouble: ${trouble.first[0] ?? ''}`]),
  ].join(', ');
}

export function killLine({ allAgainMs, secondAttemptMs, figures }: KillResult): string {
  const { dueTimes, duplicates, misses, unrecorded } = figures;
  return [
    `all jobs run again after ${seconds(allAgainMs)}`,
    `second attempt after ${seconds(secondAttemptMs)}`,
    `${String(duplicates)} doubled`,
    `${String(misses)} of ${String(dueTimes)} missed (${String(unrecorded)} without a record)`,
  ].join(', ');
}

export function idleLine({ workerShare, serverShare, callsPerHour, workerMb }: IdleResult): string {
  return [
    `${share(workerShare)} of a core for each worker`,
    `${share(serverShare)} for the server`,
    ...(callsPerHour === undefined ? [] : [`${callsPerHour.toFixed(0)} calls an hour`]),
    `${workerMb.toFixed(0)} MB`,
  ].join(', ');
}

export function logsLine({ lines, seconds: wrote, kept, keptFirst, keptLast, load }: LogsResult): string {
  const halves = `${String(keptFirst)} of the first and ${String(keptLast)} of the last 1000`;
  return `${String(kept)} of ${String(lines)} lines of ${String(wrote)} s kept, ${halves}, at load ${load.toFixed(1)}`;
}

export function shortageLine({ onTimeAfterMs, figures, usage, runs }: ShortageResult): string {
  const { lateness, starts, duplicates, dueTimes, misses } = figures;
  return [
    `on time again after ${seconds(onTimeAfterMs)}`,
    `late p50 ${milliseconds(lateness.p50)} max ${milliseconds(lateness.max)} ms`,
    `${String(misses)} of ${String(dueTimes)} missed`,
    `${String(starts - duplicates - (dueTimes - misses))} later attempts`,
    `CPU ${perRun(usage.workersCpuMs, runs)} + ${perRun(usage.backendCpuMs, runs)} ms a run`,
    ...(usage.calls === undefined ? [] : [`${perRun(totalCalls(usage.calls) ?? 0, runs)} calls a run`]),
  ].join(', ');
}

export function startLine({ apps }: Starts): string {
  return apps.map(({ title, ms }) => `${title} ${milliseconds(ms)} ms`).join(', ');
}
