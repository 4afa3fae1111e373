import type { EpochMs } from '../../core/brand';
import { userFrames } from '../../core/recorded-error';
import { isUtc, showDay, showTimeOfDay } from '../../core/show-time';
import { printable, printableJson } from '../../core/text';
import { type Cluster, deploymentOf } from '../../local/cluster/cluster';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { withoutSecrets } from '../../local/cluster/secrets';
import type { LogLine } from '../../local/host/core-api';
import { OUTCOME_COLOURS, OWN, shown, type Style, style as styled } from '../output';
import { eventLines, eventName, overdueNews, troubleNews } from './news';

/** Prints events: for people, a line for each event that is news; for programs, a JSON line for each event. */
export interface Printer {
  /** Prints the first lines, once everything runs. */
  ready(cluster: Started, about: About): void;
  event(event: ClusterEvent): void;
  log(line: LogLine, deployment: string): void;
  note(text: string): void;
  /** A suggestion, for people only. */
  hint(text: string): void;
  error(text: string): void;
}

export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
  /** IANA name. Default: UTC. */
  readonly timeZone?: string | undefined;
  /** Whether people see claims, tokens, first attempts and whole stack traces. Default: false. */
  readonly verbose?: boolean | undefined;
}

const STYLES: Readonly<Record<string, Style>> = {
  ...OUTCOME_COLOURS,
  claimed: 'dim',
  started: 'cyan',
  fannedOut: 'cyan',
  takenOver: 'magenta',
  superseded: 'yellow',
  overlapped: 'yellow',
  collapsed: 'yellow',
  overdue: 'red',
  clockSkew: 'yellow',
  unhealthy: 'red',
  healthy: 'green',
  overloaded: 'yellow',
  onTime: 'green',
  noticed: 'cyan',
  noticeSent: 'green',
  noticeLost: 'red',
  warning: 'yellow',
  instanceExited: 'red',
  instanceStarted: 'green',
};
const DEPLOYMENT_STYLES: readonly Style[] = ['blue', 'magenta', 'cyan', 'yellow', 'green'];
/** A longer job name moves only the columns of its lines. */
const JOB_WIDTH_AT_MOST = 24;
const EVENT_WIDTH = 10;

/** The connection string, for programs. The emulator's key is public, and a server that was started here has none. */
function shownStorage({ storage, azuritePid, database }: Started): string {
  return azuritePid === undefined && database === undefined ? withoutSecrets(storage) : storage;
}

export function jsonPrinter({ out, err }: Output): Printer {
  const line = (value: object): void => out(`${printableJson(value)}\n`);
  const say = (text: string): void => err(`${printable(text)}\n`);
  return {
    ready(cluster, { container }) {
      const instances = cluster.instances().map(({ pid, port, deployment }) => ({ pid, port, deployment }));
      line({ event: 'ready', storage: shownStorage(cluster), container, instances });
    },
    event: line,
    log: ({ level, message, functionName }, deployment) =>
      say(`${[deployment, level, functionName].filter(Boolean).join(' ')}: ${message}`),
    note: say,
    hint: () => undefined,
    error: say,
  };
}

/** A line of a handler begins with its job's name, which has its own column here. */
function splitLog({ message, functionName }: LogLine): { readonly job: string; readonly text: string } {
  const match = /^(?:\[([a-z0-9-]{1,63})\]|job "([a-z0-9-]{1,63})"[,:]) (.*)$/s.exec(message);
  if (functionName?.startsWith('cronlease')) {
    return { job: match?.[1] ?? match?.[2] ?? '', text: match?.[3] ?? message };
  }
  return { job: '', text: functionName === undefined ? message : `${functionName}: ${message}` };
}

export function humanPrinter({ color, timeZone = 'UTC', verbose = false, ...to }: Output): Printer {
  // Everything passes here, so that a terminal obeys nothing but the colours from below.
  const out = (text: string): void => to.out(shown(text));
  const err = (text: string): void => to.err(shown(text));
  const paint = (style: Style, text: string): string => (color ? styled(style, printable(text), 'anywhere') : text);
  const name = (deployment: string, width = 0): string => {
    const number = Number(/\d+$/.exec(deployment)?.[0] ?? 0);
    return paint(DEPLOYMENT_STYLES[number % DEPLOYMENT_STYLES.length] ?? 'blue', deployment.padEnd(width));
  };
  let jobWidth = 8;
  let deploymentWidth = 7;
  const head = (at: number, deployment: string, job: string): string => {
    jobWidth = Math.min(JOB_WIDTH_AT_MOST, Math.max(jobWidth, job.length));
    const time = paint('dim', showTimeOfDay(at, timeZone));
    return `${time}  ${name(deployment, deploymentWidth)}  ${job.padEnd(jobWidth)}  `;
  };
  const details = eventLines({ timeZone, verbose });
  const print = (event: ClusterEvent): void => {
    const text = details(event);
    // The line of the start follows, and names the instance too.
    if (event.event === 'claimed' && !verbose) return;
    const style = STYLES[event.event] ?? 'reset';
    const line = `${paint(style, eventName(event.event).padEnd(EVENT_WIDTH))}  ${text}`;
    out(`${head(Date.parse(event.at), event.deployment, event.job ?? '')}${line.trimEnd()}\n`);
  };
  const newsOf = overdueNews();
  const isNews = troubleNews();
  return {
    ready(cluster, about) {
      const longest = Math.max(0, ...about.jobs.map((job) => job.name.length));
      jobWidth = Math.min(JOB_WIDTH_AT_MOST, longest || jobWidth);
      deploymentWidth = Math.max(deploymentWidth, ...cluster.instances().map(({ deployment }) => deployment.length));
      out(banner(cluster, about, { timeZone, bold: (text) => paint('bold', text), deployment: name }));
    },
    event: (event) => newsOf(event).filter(isNews).forEach(print),
    log(line, deployment) {
      const { level } = line;
      const style: Style = level === 'warning' ? 'yellow' : level === 'error' || level === 'critical' ? 'red' : 'dim';
      const { job, text } = splitLog(line);
      const said = verbose ? text : userFrames(text, OWN);
      out(`${head(Date.now(), deployment, job)}${paint(style, said)}\n`);
    },
    note: (text) => out(`${paint('dim', text)}\n`),
    hint: (text) => out(`${paint('bold', text)}\n`),
    error: (text) => err(`${paint('red', text)}\n`),
  };
}

type Started = Pick<Cluster, 'storage' | 'azuritePid' | 'database' | 'instances'>;
type StartedInstance = ReturnType<Started['instances']>[number];

/** The contents of the first lines of `cronlease dev`. */
export interface About {
  readonly app: string;
  readonly container: string;
  readonly data: string | undefined;
  readonly now: EpochMs;
  readonly jobs: readonly { readonly name: string; readonly next: EpochMs | undefined }[];
}

interface BannerStyle {
  readonly timeZone: string;
  readonly bold: (text: string) => string;
  readonly deployment: (name: string, width: number) => string;
}

const ROUTES = 6;
const NEXT_JOBS = 4;
const LABEL = 10;

/** The first lines: the deployments, their storage, the next jobs, and commands to try. */
function banner(cluster: Started, about: About, style: BannerStyle): string {
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
  return [...Map.groupBy(coming, ({ next }) => next)].map(([time, due], index) => {
    const names = due.map(({ name }) => name).join(', ');
    return row(index === 0 ? 'next' : '', `${show(time)}  ${names}`);
  });
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
