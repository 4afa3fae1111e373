import type { Found, Note } from './draft';

export type Format = 'crontab' | 'k8s' | 'quartz' | 'timers';

/** How the runs of a source differ from those of a job where no setting of it says so. */
const ABOUT_RUNS: Readonly<Record<Format, { readonly why: string; readonly remedy: string }>> = {
  crontab: {
    why: 'cron starts a command even while its last run is in progress, does not make up for missed times, and does not retry; a job skips due times during a run, makes up for the latest one of the last hour, and has 3 attempts',
    remedy: 'If this matters for a job, set its "overlap", "catchUp" and "retry".',
  },
  k8s: {
    why: 'Kubernetes starts a container for each run; a job calls a handler in the function app, for up to its "timeout", which must fit in functionTimeout; without a deadline, Kubernetes starts a missed run of any age, a job one of the last 90 days',
    remedy: 'Split longer work with defineFanOut.',
  },
  quartz: {
    why: 'Quartz starts a job even while its last run is in progress, unless its class forbids that, makes up for missed times of any age, and does not retry; a job skips due times during a run, makes up for those of the last hour, and has 3 attempts',
    remedy: 'If this matters for a job, set its "overlap", "catchUpWindow" and "retry".',
  },
  timers: {
    why: 'a timer makes up for one missed time of any age, and does not retry without a policy; a job makes up for the last hour, and has 3 attempts',
    remedy:
      'If this matters for a job, set its "catchUpWindow" and "retry". docs/how-to/from-timers.md describes the move step by step.',
  },
};

const DEFAULT_ZONES: Readonly<Record<Format, string | undefined>> = {
  crontab: 'the zone of the machine that ran cron',
  k8s: 'the zone of the controller, which is usually UTC',
  quartz: 'the zone of the process that ran Quartz',
  // The platform's default is UTC, and documented.
  timers: undefined,
};

/** The note about all jobs of a format, on the first file that has one. */
export function noteOnRuns(format: Format, found: readonly Found[]): readonly Note[] {
  const first = found.flatMap(({ drafts }) => drafts)[0];
  if (first === undefined) return [];
  return [{ file: first.file, line: first.line, what: 'all jobs', ...ABOUT_RUNS[format], leftOut: false }];
}

/** The note about the time zone of a file that names none. */
export function noteOnZone(file: string, format: Format, { drafts }: Found): readonly Note[] {
  const zone = DEFAULT_ZONES[format];
  const inDefault = drafts.find(
    ({ settings }) => settings.timeZone === undefined && !settings.schedule.startsWith('@every'),
  );
  if (zone === undefined || inDefault === undefined) return [];
  const why = `its times are those of ${zone}; here they are read as UTC`;
  const remedy = 'If it is another zone, name it: --time-zone Europe/Lisbon.';
  return [{ file, line: inDefault.line, what: 'no time zone', why, remedy, leftOut: false }];
}
