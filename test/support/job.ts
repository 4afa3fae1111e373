import type { JobName } from '../../src/core/brand';
import type { JobSpec } from '../../src/core/job';
import { compileSchedule } from '../../src/core/schedule/compile';
import { parseSchedule } from '../../src/core/schedule/parse';
import { zoneOf } from '../../src/core/schedule/zone';

/** A job with every default of the jobs file, except for the test's own settings. */
export function jobSpec(name: string, schedule: string, settings: Partial<JobSpec> = {}): JobSpec {
  const { kind, at, timetable } = compileSchedule(
    parseSchedule(schedule),
    zoneOf('UTC'),
    { gap: 'forward', overlap: 'first' },
    [],
  );
  return {
    name: name as JobName,
    schedule,
    kind,
    ...(at === undefined ? {} : { at }),
    timeZone: 'UTC',
    timetable,
    offsetMs: 0,
    catchUp: 'latest',
    catchUpWindowMs: 3_600_000,
    overlap: 'skip',
    requires: [],
    requireWithinMs: (settings.requires ?? []).length === 0 ? 0 : 3_240_000,
    group: undefined,
    priority: 5,
    timeoutMs: kind === 'always' ? undefined : 600_000,
    stallAfterMs: undefined,
    graceMs: 5_000,
    retry: { attempts: 3, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
    leaseMs: 30_000,
    pauseAfterFailures: undefined,
    alertAfterMs: undefined,
    notify: undefined,
    ping: undefined,
    keepMs: 90 * 86_400_000,
    logs: 'keep',
    input: undefined,
    handler: name,
    description: undefined,
    tags: [],
    enabled: true,
    scheduleHash: `hash of ${schedule}`,
    ...settings,
  };
}
