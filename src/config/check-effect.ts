import type { CheckedJob } from './report';
import type { JobSettings } from './schema';

type Schedule = NonNullable<JobSettings['schedule']>;

/** Warns of settings that have no effect with this kind of schedule. */
export function warnOfNoEffect({ path, settings, given, wrong, report }: CheckedJob): void {
  const { schedule, requires } = settings;
  if (given.has('requireWithin') && requires.length === 0 && !wrong.has('requires')) {
    report.warning([...path, 'requireWithin'], 'has no effect: the job requires no other', 'leave it out');
  }
  if (schedule === undefined) return;
  for (const setting of withoutEffect(schedule)) {
    if (!given.has(setting)) continue;
    const why =
      schedule.kind === 'cron'
        ? 'the hour field of this schedule follows elapsed time'
        : `the schedule is ${schedule.text}`;
    report.warning([...path, setting], `has no effect: ${why}`, 'leave it out');
  }
}

function withoutEffect(schedule: Schedule): readonly (keyof JobSettings)[] {
  switch (schedule.kind) {
    case 'always':
      return ['dst', 'between', 'except', 'catchUp', 'catchUpWindow', 'overlap', 'spread'];
    case 'manual':
      // catchUpWindow and overlap apply to manual runs.
      return ['dst', 'between', 'except', 'catchUp', 'spread'];
    case 'every':
    case 'at':
      return ['dst'];
    case 'cron':
      return schedule.elapsed ? ['dst'] : [];
  }
}
