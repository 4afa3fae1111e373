import type { EpochMs } from '../../core/brand';
import { isUtc, showDay, showTimeOfDay } from '../../core/show-time';
import { type Cluster, deploymentOf } from '../../local/cluster/cluster';
import { withoutSecrets } from '../../local/cluster/secrets';

export type Started = Pick<Cluster, 'storage' | 'azuritePid' | 'database' | 'instances'>;
type StartedInstance = ReturnType<Started['instances']>[number];

/** The contents of the first lines of `cronlease dev`. */
export interface About {
  readonly app: string;
  readonly container: string;
  readonly data: string | undefined;
  readonly now: EpochMs;
  readonly jobs: readonly { readonly name: string; readonly next: EpochMs | undefined }[];
}

export interface BannerStyle {
  readonly timeZone: string;
  readonly bold: (text: string) => string;
  readonly deployment: (name: string, width: number) => string;
}

/** The most routes of one instance to list; others are counted. */
const ROUTES = 6;
const NEXT_JOBS = 4;
const LABEL = 10;

/** The first lines: the deployments, their storage, the next jobs, and commands to try. */
export function banner(cluster: Started, about: About, style: BannerStyle): string {
  const instances = cluster.instances();
  const { app, container, data } = about;
  const title = titleOf(instances, app);
  return [
    '',
    ...dashboardLines(instances, style),
    style.bold(title),
    '',
    ...describeStorage(cluster, data),
    row('container', container),
    ...instances.flatMap((instance) => instanceLines(instance, style)),
    ...nextLines(about, style.timeZone),
    row('times', isUtc(style.timeZone) ? 'in UTC (--local: in the zone of this machine)' : `in ${style.timeZone}`),
    '',
    'To try, in another terminal in this folder:',
    ...TRY.map(([command, what]) => `  ${command.padEnd(27)} ${what}`),
    'Ctrl+C stops everything.',
    '',
    '',
  ].join('\n');
}

function titleOf(instances: readonly StartedInstance[], app: string): string {
  const { size: deployments } = new Set(instances.map(({ deployment }) => deploymentOf(deployment)));
  if (instances.length === 1) return `One deployment runs the jobs of ${app}`;
  if (deployments === 1) return `${instances.length} instances of one deployment run the jobs of ${app}`;
  const each = instances.length === deployments ? '' : `, with ${instances.length} instances,`;
  return `${deployments} deployments${each} race for the jobs of ${app}`;
}

/** The address to open, if the app has a dashboard. */
function dashboardLines(instances: readonly StartedInstance[], { bold }: BannerStyle): readonly string[] {
  const [first] = instances;
  const isServed = first?.functions.some(({ name }) => name === 'cronleaseManage') ?? false;
  return first === undefined || !isServed ? [] : [`Dashboard: ${bold(`http://127.0.0.1:${first.port}/`)}`, ''];
}

const TRY = [
  ['npx cronlease status', 'show the state of all jobs'],
  ['npx cronlease runs', 'list runs, newest first'],
  ['npx cronlease why JOB TIME', 'explain the outcome of a due time'],
  ['npx cronlease run JOB', 'run a job now'],
  ['npx cronlease doctor', 'check storage, jobs and deployments'],
] as const;

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)} ${text}`;
}

function instanceLines(
  { deployment, port, pid, inspectorUrl, functions }: StartedInstance,
  style: BannerStyle,
): readonly string[] {
  const url = `http://127.0.0.1:${port}`;
  const routes = functions.flatMap(({ route }) => route ?? []);
  const listed = routes.slice(0, ROUTES).map((route) => row('', `  ${route.replace(/\/(?=[^/]*)/, `${url}/`)}`));
  const more = routes.length > ROUTES ? [row('', `  and ${routes.length - ROUTES} more routes`)] : [];
  const debug = inspectorUrl === undefined ? [] : [row('', `  debugger ${inspectorUrl}`)];
  return [`  ${style.deployment(deployment, LABEL)} ${url}  pid ${pid}`, ...debug, ...listed, ...more];
}

/** The next jobs, with the jobs of one due time on one line. */
function nextLines({ jobs, now }: About, timeZone: string): readonly string[] {
  const today = showDay(now, timeZone);
  const show = (time: EpochMs): string => {
    const day = showDay(time, timeZone);
    return `${day === today ? '' : `${day} `}${showTimeOfDay(time, timeZone)}`;
  };
  const coming = jobs
    .flatMap(({ name, next }) => (next === undefined ? [] : [{ name, next }]))
    .toSorted((a, b) => a.next - b.next)
    .slice(0, NEXT_JOBS);
  const times = new Map<EpochMs, string[]>();
  for (const { name, next } of coming) times.set(next, [...(times.get(next) ?? []), name]);
  return [...times].map(([time, names], index) => row(index === 0 ? 'next' : '', `${show(time)}  ${names.join(', ')}`));
}

/** The storage, without its key or password. */
function describeStorage(cluster: Started, data: string | undefined): readonly string[] {
  const part = (name: string): string | undefined =>
    new RegExp(`(?:^|;)${name}=([^;]+)`, 'i').exec(withoutSecrets(cluster.storage))?.[1];
  const where = part('BlobEndpoint') ?? part('AccountName') ?? 'the storage emulator';
  if (cluster.database !== undefined) {
    const kept = data === undefined ? 'in a temporary folder (--data DIR keeps it)' : `kept in ${data}`;
    return [row('storage', `${cluster.database.name} at ${withoutSecrets(cluster.storage)},`), row('', kept)];
  }
  if (/^[a-z]+:\/\//i.test(cluster.storage)) return [row('storage', withoutSecrets(cluster.storage))];
  if (cluster.azuritePid === undefined) return [row('storage', where)];
  return [
    row('storage', `Azurite at ${where},`),
    row('', data === undefined ? 'in memory (--data DIR keeps it)' : `kept in ${data}`),
  ];
}
