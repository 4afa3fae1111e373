import { ConfigError, type ConfigIssue } from '../config/config-error';
import type { JobInFile } from '../config/job-in-file';
import { loadJobs } from '../config/load';
import { ALL_JOBS } from '../config/readers';
import type { Millis } from '../core/brand';
import { asSentence, type Draft, type Found, type Note } from './draft';

const LONGEST = 63;

export interface JobsDocument {
  readonly $schema: string;
  readonly revision: number;
  readonly jobs: Readonly<Record<string, JobInFile>>;
}

export type NamedDraft = Draft & { readonly job: string };

export interface Imported {
  readonly document: JobsDocument;
  readonly jobs: readonly NamedDraft[];
  readonly notes: readonly Note[];
}

export interface DocumentOptions {
  readonly revision: number;
  /** The time limit of the app's functions, into which each `timeout` must fit. */
  readonly functionTimeoutMs: Millis;
}

const SCHEMA = './node_modules/cronlease/schema/jobs.schema.json';

/** Makes one jobs file of all that was found. Every check of a jobs file accepts it: a job that one refuses is left out. */
export function jobsDocument(found: readonly Found[], { revision, functionTimeoutMs }: DocumentOptions): Imported {
  let jobs = withNames(found.flatMap(({ drafts }) => drafts));
  const notes = found.flatMap((one) => one.notes);
  for (;;) {
    const entries = jobs.map(({ job, settings }) => [job, settings] as const);
    const document = { $schema: SCHEMA, revision, jobs: Object.fromEntries(entries) };
    const refused = errorsIn(document, functionTimeoutMs);
    if (refused.size === 0) return { document, jobs, notes };
    jobs = jobs.flatMap((draft) => {
      const error = refused.get(draft.job);
      if (error === undefined) return [draft];
      const { name, file, line, settings } = draft;
      const remedy = asSentence(error.remedy);
      const [, , setting = 'settings'] = error.path.split('.');
      // Without one, the default is too long.
      if (setting === 'timeout' && settings.timeout !== undefined) {
        const why = `it is left out, because it ${error.message}`;
        notes.push({ file, line, what: `${name}: timeout ${settings.timeout}`, why, remedy, leftOut: false });
        const { timeout: _, ...rest } = settings;
        return [{ ...draft, settings: rest }];
      }
      const why = `its ${setting} ${error.message}`;
      notes.push({ file, line, what: `${name}: ${settings.schedule}`, why, remedy, leftOut: true });
      return [];
    });
  }
}

function errorsIn(document: JobsDocument, functionTimeoutMs: Millis): ReadonlyMap<string, ConfigIssue> {
  try {
    loadJobs(document, { functionTimeoutMs });
    return new Map();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const refused = new Map<string, ConfigIssue>();
    for (const issue of error.errors) {
      const [, job = ''] = issue.path.split('.');
      if (!(job in document.jobs)) throw error;
      if (!refused.has(job)) refused.set(job, issue);
    }
    return refused;
  }
}

/** The nearest name that a job can have: `NightlyReport` becomes `nightly-report`. */
function jobNameFrom(text: string): string {
  const name = text
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '');
  if (name === '') return 'job';
  return name === ALL_JOBS ? `${name}-jobs` : name;
}

/** Gives each job its own name, in order: later ones of the same name get a number. */
function withNames(drafts: readonly Draft[]): readonly NamedDraft[] {
  const taken = new Set<string>();
  return drafts.map((draft) => {
    const wanted = jobNameFrom(draft.name);
    let job = wanted;
    for (let number = 2; taken.has(job); number += 1)
      job = `${wanted.slice(0, LONGEST - 1 - String(number).length)}-${number}`;
    taken.add(job);
    return { ...draft, job };
  });
}

export type Format = 'crontab' | 'k8s' | 'quartz' | 'timers';

interface AboutFormat {
  /** How the runs of a source differ from those of a job where no setting of it says so. */
  readonly runs: string;
  readonly remedy: string;
  /** The zone of a source that names none, unless its default is UTC, and documented. */
  readonly zone?: string;
}

const FORMATS: Readonly<Record<Format, AboutFormat>> = {
  crontab: {
    runs: 'cron starts a command even while its last run is in progress, does not make up for missed times, and does not retry; a job skips due times during a run, makes up for the latest one of the last hour, and has 3 attempts',
    remedy: 'If this matters for a job, set its "overlap", "catchUp" and "retry".',
    zone: 'the zone of the machine that ran cron',
  },
  k8s: {
    runs: 'Kubernetes starts a container for each run; a job calls a handler in the function app, for up to its "timeout", which must fit in functionTimeout; without a deadline, Kubernetes starts a missed run of any age, a job one of the last 90 days',
    remedy: 'Split longer work with defineFanOut.',
    zone: 'the zone of the controller, which is usually UTC',
  },
  quartz: {
    runs: 'Quartz starts a job even while its last run is in progress, unless its class forbids that, makes up for missed times of any age, and does not retry; a job skips due times during a run, makes up for those of the last hour, and has 3 attempts',
    remedy: 'If this matters for a job, set its "overlap", "catchUpWindow" and "retry".',
    zone: 'the zone of the process that ran Quartz',
  },
  timers: {
    runs: 'a timer makes up for one missed time of any age, and does not retry without a policy; a job makes up for the last hour, and has 3 attempts',
    remedy:
      'If this matters for a job, set its "catchUpWindow" and "retry". docs/how-to/from-timers.md describes the move step by step.',
  },
};

/** The note about all jobs of a format, on the first file that has one. */
export function noteOnRuns(format: Format, found: readonly Found[]): readonly Note[] {
  const first = found.flatMap(({ drafts }) => drafts)[0];
  if (first === undefined) return [];
  const { runs: why, remedy } = FORMATS[format];
  return [{ file: first.file, line: first.line, what: 'all jobs', why, remedy, leftOut: false }];
}

/** The note about the time zone of a file that names none. */
export function noteOnZone(file: string, format: Format, { drafts }: Found): readonly Note[] {
  const { zone } = FORMATS[format];
  const inDefault = drafts.find(
    ({ settings }) => settings.timeZone === undefined && !settings.schedule.startsWith('@every'),
  );
  if (zone === undefined || inDefault === undefined) return [];
  const why = `its times are those of ${zone}; here they are read as UTC`;
  const remedy = 'If it is another zone, name it: --time-zone Europe/Lisbon.';
  return [{ file, line: inDefault.line, what: 'no time zone', why, remedy, leftOut: false }];
}
