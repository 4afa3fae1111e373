import type { Result } from '../measure/result';
import { milliseconds, perRun, totalCalls } from './numbers';

/** One run in one line. */
export function figuresLine({ figures, usage, runs, trouble }: Result): string {
  const { lateness, duplicates, misses, unrecorded } = figures;
  const calls = totalCalls(usage.calls);
  return [
    `late p50 ${milliseconds(lateness.p50)} p99 ${milliseconds(lateness.p99)} max ${milliseconds(lateness.max)}`,
    `${String(duplicates)} doubled`,
    `${String(misses)} missed${misses === unrecorded ? '' : ` (${String(unrecorded)} without a record)`}`,
    `CPU ${perRun(usage.workersCpuMs, runs)} + ${perRun(usage.backendCpuMs, runs)} ms a run`,
    ...(calls === undefined ? [] : [`${perRun(calls, runs)} calls a run`]),
    `${usage.workerMb.toFixed(0)} MB`,
    ...(trouble.lines === 0 ? [] : [`${String(trouble.lines)} lines of trouble: ${trouble.first[0] ?? ''}`]),
  ].join(', ');
}
