import * as z from 'zod';
import { formatDuration } from '../core/duration';
import { isObject } from '../core/metadata';
import type { JobInFile } from '../config/job-in-file';
import { callOfContainer } from './curl';
import type { Finds, SourceOptions } from './draft';
import { type GoTiming, goCron } from './go-cron';

const JOB_SPEC = ['spec', 'jobTemplate', 'spec'] as const;

export type MemberPath = readonly (string | number)[];

/** An object of a manifest, with the lines of its members. */
export interface Manifest {
  readonly value: Readonly<Record<string, unknown>>;
  /** The line of a member, or of the nearest one around it that exists. */
  lineOf(path: MemberPath): number;
  /** Those of the template around it. */
  readonly parameters?: Parameters;
  /** The remedy for a template in a setting, if it is none of Helm. */
  readonly renderer?: string;
}

/** The members of a CronJob that become settings: a template in any other one is text. */
const SETTINGS: readonly MemberPath[] = [
  ['metadata', 'name'],
  ['metadata', 'generateName'],
  ...['schedule', 'timeZone', 'concurrencyPolicy', 'startingDeadlineSeconds', 'suspend'].map((key) => ['spec', key]),
  ...['backoffLimit', 'activeDeadlineSeconds'].map((key) => [...JOB_SPEC, key]),
];

export type Parameters = ReadonlyMap<string, string | undefined>;

const PARAMETER = /\$\{(?:\{(?<raw>\w+)\}|(?<name>\w+))\}/g;

export function parametersOf(template: Readonly<Record<string, unknown>>): Parameters {
  const given = Array.isArray(template['parameters']) ? template['parameters'].filter(isObject) : [];
  return new Map(given.map(({ name, value }) => [textOf(name) ?? '', textOf(value)]));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string'
      ? value
      : undefined;
}

/** A CronJob with its parameters filled in; undefined after a note that a setting of it is not known. */
function filledIn(finds: Finds, manifest: Manifest): Manifest | undefined {
  const { parameters, value } = manifest;
  const name = textOf(at(value, ['metadata', 'name'])) ?? 'CronJob';
  for (const path of SETTINGS) {
    const text = at(value, path);
    if (typeof text !== 'string') continue;
    const what = `${name}: ${path.at(-1) ?? ''} ${JSON.stringify(text)}`;
    if (text.includes('{{') && !/^\$\{\{\w+\}\}$/.test(text)) {
      finds.leaveOut(manifest.lineOf(path), what, 'it is a template', manifest.renderer ?? HELM_RENDERS);
      return undefined;
    }
    for (const parameter of namesIn(text, parameters)) {
      const known = parameters?.get(parameter);
      if (known === undefined) {
        const why = `the parameter ${parameter} of the template has no value`;
        finds.leaveOut(manifest.lineOf(path), what, why, `Render it first: ${OC_PROCESS} -p ${parameter}=VALUE > FILE`);
        return undefined;
      }
      const why = `a jobs file has no parameters, so the job has the value that ${parameter} has by default: ${JSON.stringify(known)}`;
      finds.note(manifest.lineOf(path), what, why, `If it has another one, render the template: ${OC_PROCESS} > FILE`);
    }
  }
  if (parameters === undefined) return manifest;
  const filled = replaced(value, parameters);
  return { ...manifest, value: isObject(filled) ? filled : {} };
}

const HELM_RENDERS = 'Render it first: helm template CHART > FILE';
const OC_PROCESS = 'oc process -f TEMPLATE';

function namesIn(text: string, parameters: Parameters | undefined): readonly string[] {
  if (parameters === undefined) return [];
  return [...text.matchAll(PARAMETER)].map(({ groups }) => groups?.['raw'] ?? groups?.['name'] ?? '');
}

/** `${NAME}` is text, and `${{NAME}}` a value of JSON. A parameter without a value stays as it is written. */
function replaced(value: unknown, parameters: Parameters): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, parameters));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner, parameters)]));
  }
  if (typeof value !== 'string') return value;
  const raw = /^\$\{\{(\w+)\}\}$/.exec(value)?.[1];
  const known = raw === undefined ? undefined : parameters.get(raw);
  if (known !== undefined) return jsonOrText(known);
  return value.replaceAll(
    PARAMETER,
    (all, inBraces?: string, name?: string) => parameters.get(inBraces ?? name ?? '') ?? all,
  );
}

function jsonOrText(text: string): unknown {
  return /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}

export function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)];
    return isObject(inner) ? inner[String(key)] : undefined;
  }, value);
}

const count = z.int().min(0).nullish();

const container = z.looseObject({
  image: z.string().nullish(),
  command: z.array(z.string()).nullish(),
  args: z.array(z.string()).nullish(),
});

const pod = z.looseObject({ containers: z.array(container).min(1) });

const jobSpec = z.looseObject({
  backoffLimit: count,
  activeDeadlineSeconds: z.int().min(1).nullish(),
  parallelism: count,
  completions: count,
  template: z.object({ spec: pod }),
});

const cronJobSpec = z.looseObject({
  schedule: z.string(),
  timeZone: z.string().nullish(),
  concurrencyPolicy: z.enum(['Allow', 'Forbid', 'Replace', '']).nullish(),
  startingDeadlineSeconds: z.int().min(0).nullish(),
  suspend: z.boolean().nullish(),
  jobTemplate: z.object({ spec: jobSpec }),
});

const cronJob = z.object({
  metadata: z.object({
    name: z.string().optional(),
    generateName: z.string().optional(),
    annotations: z.record(z.string(), z.unknown()).nullish(),
  }),
  spec: cronJobSpec,
});

type CronJob = z.output<typeof cronJob>;

/** The members of each object that have become settings, or that mean nothing to a job. */
const CARRIED = {
  cronJob: new Set(Object.keys(cronJobSpec.shape)),
  job: new Set([...Object.keys(jobSpec.shape), 'selector', 'manualSelector']),
  pod: new Set([...Object.keys(pod.shape), 'restartPolicy', 'dnsPolicy', 'schedulerName']),
  container: new Set([...Object.keys(container.shape), 'name', 'imagePullPolicy']),
};

/** A missed run of Kubernetes has no age limit without a deadline. */
const NO_DEADLINE = '90d';

export function addCronJob(finds: Finds, template: Manifest, options: SourceOptions): void {
  const manifest = filledIn(finds, template);
  if (manifest === undefined) return;
  const parsed = cronJob.safeParse(manifest.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = (issue?.path ?? []).map((key) => (typeof key === 'number' ? key : String(key)));
    const isMissing = issue !== undefined && at(manifest.value, issue.path) === undefined;
    const why = isMissing
      ? `it has no ${path.join('.')}, as a patch has none`
      : `${path.join('.')}: ${issue?.message ?? 'it is not a CronJob'}`;
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
  const note: AddNote = (path, what, why, remedy) => finds.note(manifest.lineOf(path), `${name}: ${what}`, why, remedy);
  try {
    finds.add(manifest.lineOf(['metadata', 'name']), name, settingsOf(parsed.data, options, note));
    noteOthers(parsed.data, note);
  } catch (error) {
    const what = `${name}: schedule ${JSON.stringify(spec.schedule)}`;
    finds.leaveOutFor(error, manifest.lineOf(['spec', 'schedule']), what, 'it');
  }
}

type AddNote = (path: MemberPath, what: string, why: string, remedy: string) => void;

function settingsOf({ spec, metadata }: CronJob, options: SourceOptions, note: AddNote): JobInFile {
  const template = spec.jobTemplate.spec;
  const timing = timingOf(spec.schedule, spec.timeZone ?? options.timeZone, options, note);
  const { concurrencyPolicy, startingDeadlineSeconds, suspend } = spec;
  if (concurrencyPolicy === 'Allow' || !concurrencyPolicy) {
    const what = concurrencyPolicy ? 'concurrencyPolicy: Allow' : 'no concurrencyPolicy, which means Allow';
    const why = 'a job runs once at a time: the newest due time waits for the end of the run ("overlap": "queue")';
    const remedy = 'Let the handler fan out, or keep its runs shorter than the schedule.';
    note(['spec', 'concurrencyPolicy'], what, why, remedy);
  }
  if (suspend) {
    const why =
      'the job is disabled, and enabling it makes up for nothing, while Kubernetes starts the latest missed run';
    const remedy = 'Delete "enabled" when it should run, and use "cronlease pause" from then on.';
    note(['spec', 'suspend'], 'suspend: true', why, remedy);
  }
  const { activeDeadlineSeconds: deadline, backoffLimit } = template;
  if (deadline == null) {
    const why = 'an attempt is aborted after "timeout", which is 10m by default';
    note(JOB_SPEC, 'no activeDeadlineSeconds', why, 'Set "timeout" to what the job needs.');
  } else {
    const why = '"timeout" limits each attempt, not all of them together';
    const place = [...JOB_SPEC, 'activeDeadlineSeconds'];
    note(place, `activeDeadlineSeconds: ${deadline}`, why, 'Lower it if the sum matters.');
  }
  const curl = curlOf(template.template.spec, note);
  return {
    ...timing,
    description: descriptionOf(metadata, template.template.spec.containers),
    overlap: concurrencyPolicy === 'Replace' ? 'cancel' : 'queue',
    ...deadlineOf(startingDeadlineSeconds),
    ...(deadline != null && { timeout: formatDuration(deadline * 1000) }),
    // As the Job controller waits: 10 s, 20 s, 40 s, up to 6 minutes.
    retry: { attempts: (backoffLimit ?? 6) + 1, backoff: '10s', factor: 2, maxBackoff: '6m', jitter: 'none' },
    ...(suspend === true && { enabled: false }),
    ...(curl !== undefined && { call: curl }),
  };
}

function curlOf({ containers, initContainers }: z.output<typeof pod>, note: AddNote): JobInFile['call'] {
  const [first, ...others] = containers;
  const hasMore = others.length > 0 || initContainers !== undefined;
  const curl = first === undefined || hasMore ? undefined : callOfContainer(first);
  if (curl === undefined) return undefined;
  const statuses = curl.fails ? '' : ', and it fails with an answer that curl takes without --fail';
  const why = `it became a "call", which needs no handler${statuses}`;
  const place = [...JOB_SPEC, 'template', 'spec', 'containers'];
  note(place, 'a container that only runs curl', why, 'Add its host to CRONLEASE_CALL_HOSTS, and check "call".');
  return curl.call;
}

function deadlineOf(seconds: number | null | undefined): Pick<JobInFile, 'catchUp' | 'catchUpWindow'> {
  if (seconds === 0) return { catchUp: 'none' };
  return { catchUpWindow: seconds == null ? NO_DEADLINE : formatDuration(seconds * 1000) };
}

function timingOf(text: string, timeZone: string, { now }: SourceOptions, note: AddNote): GoTiming['timing'] {
  const { timing, period } = goCron(text, { timeZone, now, fields: 5 });
  if (period !== undefined) {
    const why = 'Kubernetes counts the period from the last run, the job from 1970, so the first due times shift';
    note(['spec', 'schedule'], `schedule ${period}`, why, 'Check the first due times: cronlease next.');
  }
  return timing;
}

function descriptionOf(metadata: CronJob['metadata'], containers: readonly z.output<typeof container>[]): string {
  const text = metadata.annotations?.['kubernetes.io/description'];
  if (typeof text === 'string' && text.trim() !== '') return text.trim();
  return containers
    .map(({ image, command, args }) => [image ?? '', ...(command ?? []), ...(args ?? [])].join(' ').trim())
    .join('; ');
}

/** Notes the members that have no place in a jobs file, those of an object together. */
function noteOthers({ spec }: CronJob, note: AddNote): void {
  const about = (path: MemberPath, keys: readonly string[], why: string, remedy: string): void => {
    if (keys.length > 0) note([...path, keys[0] ?? ''], keys.join(', '), why, remedy);
  };
  const rest = (value: object, carried: ReadonlySet<string>): readonly string[] =>
    Object.keys(value).filter((key) => !carried.has(key));
  const { spec: job } = spec.jobTemplate;
  const isHistory = (key: string): boolean => /HistoryLimit$|^ttlSeconds/.test(key);
  for (const [path, keys] of [
    [['spec'], rest(spec, CARRIED.cronJob)],
    [JOB_SPEC, rest(job, CARRIED.job)],
  ] as const) {
    const why = 'records are kept for a time, not by their number';
    about(path, keys.filter(isHistory), why, 'Set "keep", which is 90d by default.');
    const others = keys.filter((key) => !isHistory(key));
    about(path, others, 'a job has no such setting', 'Do it in the handler if it matters.');
  }
  for (const key of ['parallelism', 'completions'] as const) {
    if ((job[key] ?? 1) !== 1)
      about(JOB_SPEC, [key], 'a run has one handler call at a time', 'Use defineFanOut: its items run concurrently.');
  }
  const podPath = [...JOB_SPEC, 'template', 'spec'];
  const place = 'the handler runs in the function app, which has no such setting';
  const remedy = 'Use app settings, the identity of the app, and its plan.';
  about(podPath, rest(job.template.spec, CARRIED.pod), place, remedy);
  job.template.spec.containers.forEach((one, index) => {
    about([...podPath, 'containers', index], rest(one, CARRIED.container), place, remedy);
  });
}
