import * as z from 'zod';
import { formatDuration } from '../core/duration';
import { ScheduleError } from '../core/schedule/schedule-error';
import type { JobInFile } from '../config/schema';
import { scheduled } from './clock-policy';
import type { FieldRules } from './cron-field';
import { MONTHS, readField, WEEKDAYS } from './cron-field';
import type { CronValues, Days } from './cron-text';
import { inEither, inMonth, inWeek } from './cron-text';
import type { Finds, SourceOptions } from './draft';
import { goDuration } from './go-duration';
import type { Manifest, MemberPath } from './k8s-template';
import { at } from './k8s-template';
import { MACROS } from './macros';

const members = z.record(z.string(), z.unknown());
const count = z.int().min(0).nullish();

const container = members.and(
  z.object({
    image: z.string().nullish(),
    command: z.array(z.string()).nullish(),
    args: z.array(z.string()).nullish(),
  }),
);

const jobSpec = members.and(
  z.object({
    backoffLimit: count,
    activeDeadlineSeconds: z.int().min(1).nullish(),
    parallelism: count,
    completions: count,
    template: z.object({ spec: members.and(z.object({ containers: z.array(container).min(1) })) }),
  }),
);

const cronJob = z.object({
  metadata: z.object({
    name: z.string().optional(),
    generateName: z.string().optional(),
    annotations: z.record(z.string(), z.unknown()).nullish(),
  }),
  spec: members.and(
    z.object({
      schedule: z.string(),
      timeZone: z.string().nullish(),
      concurrencyPolicy: z.enum(['Allow', 'Forbid', 'Replace', '']).nullish(),
      startingDeadlineSeconds: z.int().min(0).nullish(),
      suspend: z.boolean().nullish(),
      jobTemplate: z.object({ spec: jobSpec }),
    }),
  ),
});

type CronJob = z.output<typeof cronJob>;

/** The members of a spec that have become settings, or that mean nothing to a job. */
const CARRIED = new Set([
  ...['schedule', 'timeZone', 'concurrencyPolicy', 'startingDeadlineSeconds', 'suspend', 'jobTemplate'],
  ...['backoffLimit', 'activeDeadlineSeconds', 'parallelism', 'completions', 'template', 'selector', 'manualSelector'],
]);
const CARRIED_OF_POD = new Set(['containers', 'restartPolicy', 'dnsPolicy', 'schedulerName']);
const CARRIED_OF_CONTAINER = new Set(['name', 'image', 'command', 'args', 'imagePullPolicy']);

/** A missed run of Kubernetes has no age limit without a deadline. */
const NO_DEADLINE = '90d';

export function addCronJob(finds: Finds, manifest: Manifest, options: SourceOptions): void {
  const parsed = cronJob.safeParse(manifest.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = (issue?.path ?? []).map((key) => (typeof key === 'number' ? key : String(key)));
    const isMissing = issue !== undefined && at(manifest.value, issue.path) === undefined;
    const why = isMissing
      ? `it has no ${path.join('.')}, as a patch has none`
      : `${path.join('.')}: ${issue?.message ?? 'it is no CronJob'}`;
    const remedy = isMissing
      ? 'If it is a patch, render it first: kustomize build FOLDER > FILE'
      : 'Correct the manifest: kubectl apply --dry-run=client -f FILE';
    const given = at(manifest.value, ['metadata', 'name']);
    const what = typeof given === 'string' ? `CronJob ${given}` : 'CronJob';
    finds.leaveOut(manifest.lineOf(path), what, why, remedy);
    return;
  }
  const { metadata, spec } = parsed.data;
  const name = metadata.name ?? metadata.generateName ?? 'cron-job';
  const line = manifest.lineOf(['metadata', 'name']);
  try {
    const { settings, notes } = settingsOf(parsed.data, options);
    finds.add(line, name, settings);
    for (const { path, what, why, remedy } of [...notes, ...notCarried(parsed.data)]) {
      finds.note(manifest.lineOf(path), `${name}: ${what}`, why, remedy);
    }
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const what = `${name}: schedule ${JSON.stringify(spec.schedule)}`;
    const remedy = `${error.remedy.charAt(0).toUpperCase()}${error.remedy.slice(1)}.`;
    finds.leaveOut(manifest.lineOf(['spec', 'schedule']), what, `it ${error.message}`, remedy);
  }
}

interface PathNote {
  readonly path: MemberPath;
  readonly what: string;
  readonly why: string;
  readonly remedy: string;
}

const JOB_SPEC = ['spec', 'jobTemplate', 'spec'] as const;

function settingsOf(job: CronJob, options: SourceOptions): { settings: JobInFile; notes: readonly PathNote[] } {
  const { spec, metadata } = job;
  const template = spec.jobTemplate.spec;
  const notes: PathNote[] = [];
  const note = (path: MemberPath, what: string, why: string, remedy: string): void => {
    notes.push({ path, what, why, remedy });
  };
  const timing = timingOf(spec.schedule, spec.timeZone ?? options.timeZone, options, note);
  const { concurrencyPolicy, startingDeadlineSeconds, suspend } = spec;
  if (concurrencyPolicy === 'Allow' || !concurrencyPolicy) {
    const what = concurrencyPolicy ? 'concurrencyPolicy: Allow' : 'no concurrencyPolicy, which means Allow';
    note(
      ['spec', 'concurrencyPolicy'],
      what,
      'a job runs once at a time: the newest due time waits for the end of the run ("overlap": "queue")',
      'Let the handler fan out, or keep its runs shorter than the schedule.',
    );
  }
  if (suspend)
    note(
      ['spec', 'suspend'],
      'suspend: true',
      'the job is disabled, and enabling it makes up for nothing, while Kubernetes starts the latest missed run',
      'Delete "enabled" when it should run, and use "cronlease pause" from then on.',
    );
  const { activeDeadlineSeconds, backoffLimit } = template;
  if (activeDeadlineSeconds == null)
    note(
      JOB_SPEC,
      'no activeDeadlineSeconds',
      'an attempt is aborted after "timeout", which is 10m by default',
      'Set "timeout" to what the job needs.',
    );
  else
    note(
      [...JOB_SPEC, 'activeDeadlineSeconds'],
      `activeDeadlineSeconds: ${activeDeadlineSeconds}`,
      '"timeout" limits each attempt, not all of them together',
      'Lower it if the sum matters.',
    );
  return {
    settings: {
      ...timing,
      description: descriptionOf(metadata, template.template.spec.containers),
      overlap: concurrencyPolicy === 'Replace' ? 'cancel' : 'queue',
      ...deadlineOf(startingDeadlineSeconds),
      ...(activeDeadlineSeconds != null && { timeout: formatDuration(activeDeadlineSeconds * 1000) }),
      // As the Job controller waits: 10 s, 20 s, 40 s, up to 6 minutes.
      retry: { attempts: (backoffLimit ?? 6) + 1, backoff: '10s', factor: 2, maxBackoff: '6m', jitter: 'none' },
      ...(suspend === true && { enabled: false }),
    },
    notes,
  };
}

function deadlineOf(seconds: number | null | undefined): Pick<JobInFile, 'catchUp' | 'catchUpWindow'> {
  if (seconds === 0) return { catchUp: 'none' };
  return { catchUpWindow: seconds == null ? NO_DEADLINE : formatDuration(seconds * 1000) };
}

type AddNote = (path: readonly string[], what: string, why: string, remedy: string) => void;

function timingOf(
  text: string,
  zone: string,
  { now }: SourceOptions,
  note: AddNote,
): Pick<JobInFile, 'schedule' | 'timeZone' | 'dst'> {
  const prefixed = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text.trim());
  const timeZone = prefixed?.[1] ?? zone;
  const written = prefixed?.[2] ?? text.trim();
  const every = /^@every\s+(\S+)$/.exec(written)?.[1];
  if (every !== undefined) {
    const why = 'Kubernetes counts the period from the last run, the job from 1970, so the first due times shift';
    note(['spec', 'schedule'], `schedule ${written}`, why, 'Check the first due times: cronlease next.');
    return { schedule: `@every ${formatDuration(goDuration(every))}` };
  }
  const cron = MACROS.get(written) ?? written;
  const { differs, ...timing } = scheduled(
    { values: readFields(cron), written: cron, timeZone, rule: 'eachTime' },
    now,
  );
  if (differs !== undefined) throw new Error(`a schedule that follows the clock differs: ${differs}`);
  return timing;
}

const COMMON = { all: '*?', openStep: 'toEnd', backwards: 'refuse' } as const;
const RULES: readonly FieldRules[] = [
  { ...COMMON, name: 'minute', least: 0, most: 59 },
  { ...COMMON, name: 'hour', least: 0, most: 23 },
  { ...COMMON, name: 'day-of-month', least: 1, most: 31 },
  { ...COMMON, name: 'month', least: 1, most: 12, names: MONTHS },
  { ...COMMON, name: 'day-of-week', least: 0, most: 6, names: WEEKDAYS },
];

function readFields(text: string): CronValues {
  const fields = text.split(/\s+/);
  if (fields.length !== 5) {
    throw new ScheduleError(`has ${fields.length} fields`, 'write five fields, or @daily, @hourly and the like');
  }
  const [minutes = [], hours = [], month = [], months = [], week = []] = RULES.map((rules, index) =>
    readField(fields[index] ?? '', rules),
  );
  const [, , dayText = '', , weekdayText = ''] = fields;
  return { seconds: [0], minutes, hours, months, days: daysOf(dayText, month, weekdayText, week) };
}

function daysOf(dayText: string, month: readonly number[], weekdayText: string, week: readonly number[]): Days {
  if (/^[*?]$/.test(weekdayText)) return inMonth(month);
  if (/^[*?]$/.test(dayText)) return inWeek(week);
  if (/[*?]/.test(dayText + weekdayText)) {
    throw new ScheduleError(
      `has a step of all days beside the other day field: versions of Kubernetes disagree whether both must match`,
      'write the days themselves in one of the two fields, and * in the other',
    );
  }
  return inEither(month, week);
}

function descriptionOf(metadata: CronJob['metadata'], containers: readonly z.output<typeof container>[]): string {
  const text = metadata.annotations?.['kubernetes.io/description'];
  if (typeof text === 'string' && text.trim() !== '') return text.trim();
  return containers
    .map(({ image, command, args }) => [image ?? '', ...(command ?? []), ...(args ?? [])].join(' ').trim())
    .join('; ');
}

/** Members that have no place in a jobs file, a note for each object that has some. */
function notCarried({ spec }: CronJob): readonly PathNote[] {
  const notes: PathNote[] = [];
  const about = (path: MemberPath, keys: readonly string[], why: string, remedy: string): void => {
    if (keys.length > 0) notes.push({ path: [...path, keys[0] ?? ''], what: keys.join(', '), why, remedy });
  };
  const rest = (value: object, carried: ReadonlySet<string>): readonly string[] =>
    Object.keys(value).filter((key) => !carried.has(key));
  const job = spec.jobTemplate.spec;
  const isHistory = (key: string): boolean => /HistoryLimit$|^ttlSeconds/.test(key);
  for (const [path, value] of [
    [['spec'], spec],
    [JOB_SPEC, job],
  ] as const) {
    const keys = rest(value, CARRIED);
    about(
      path,
      keys.filter(isHistory),
      'records are kept for a time, not by their number',
      'Set "keep", which is 90d by default.',
    );
    about(
      path,
      keys.filter((key) => !isHistory(key)),
      'a job has no such setting',
      'Do it in the handler if it matters.',
    );
  }
  for (const key of ['parallelism', 'completions'] as const) {
    if ((job[key] ?? 1) !== 1)
      about(JOB_SPEC, [key], 'a run has one handler call at a time', 'Use defineFanOut: its items run side by side.');
  }
  const pod = job.template.spec;
  const podPath = [...JOB_SPEC, 'template', 'spec'];
  const place = 'the handler runs in the function app, which has no such setting';
  about(podPath, rest(pod, CARRIED_OF_POD), place, 'Use app settings, the identity of the app, and its plan.');
  pod.containers.forEach((one, index) => {
    const path = [...podPath, 'containers', index];
    about(path, rest(one, CARRIED_OF_CONTAINER), place, 'Use app settings, the identity of the app, and its plan.');
  });
  return notes;
}
