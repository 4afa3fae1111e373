import { styleText } from 'node:util';
import { formatDuration } from '../../core/duration';
import { oneLine, printableJson } from '../../core/text';
import type { LogLine } from '../host/core-api';
import type { Cluster } from './cluster';
import type { ClusterEvent } from './deployment';
import { withoutSecrets } from './secrets';

type Started = Pick<Cluster, 'storage' | 'azuritePid' | 'instances'>;

/** Says what happens: to people, a line an event, or to programs, a JSON line an event. */
export interface Printer {
  /** Everything runs. */
  ready(
    cluster: Started,
    about: { readonly app: string; readonly container: string; readonly data: string | undefined },
  ): void;
  event(event: ClusterEvent): void;
  log(line: LogLine, deployment: string): void;
  /** Word from the command itself. */
  note(text: string): void;
  error(text: string): void;
}

export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
}

type Style = Parameters<typeof styleText>[0];

const STYLES: Readonly<Record<string, Style>> = {
  claimed: 'dim',
  started: 'cyan',
  retrying: 'yellow',
  fannedOut: 'cyan',
  succeeded: 'green',
  failed: 'red',
  timedOut: 'red',
  stalled: 'red',
  cancelled: 'yellow',
  takenOver: 'magenta',
  superseded: 'yellow',
  overlapped: 'yellow',
  collapsed: 'yellow',
  expired: 'yellow',
  overdue: 'red',
  clockSkew: 'yellow',
  unhealthy: 'red',
  healthy: 'green',
  warning: 'yellow',
  instanceExited: 'red',
  instanceStarted: 'green',
};
const DEPLOYMENT_STYLES: readonly Style[] = ['blue', 'magenta', 'cyan', 'yellow', 'green'];

/** Local time of day, with milliseconds. */
function timeOfDay(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const ms = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}

/** A due time as people read it: the time of day, with its date unless that is today. */
function dueTime(iso: string, now: Date): string {
  const due = new Date(iso);
  const time = timeOfDay(due).replace(/\.000$/, '');
  return due.toDateString() === now.toDateString() ? time : `${due.toLocaleDateString('sv')} ${time}`;
}

function details(event: ClusterEvent): string {
  const now = new Date(event.at);
  const due = event.scheduledFor === undefined ? undefined : `due ${dueTime(event.scheduledFor, now)}`;
  const through = event.through === undefined ? undefined : `to ${dueTime(event.through, now)}`;
  const counted = event.event === 'fannedOut' ? 'items' : 'due times';
  const count = event.count === undefined || event.count === 1 ? undefined : `(${event.count} ${counted})`;
  const facts = [
    event.attempt === undefined ? undefined : `attempt ${event.attempt}`,
    event.token === undefined ? undefined : `token ${event.token}`,
    event.latenessMs === undefined ? undefined : `${event.latenessMs} ms late`,
    event.ageMs === undefined ? undefined : `no success for ${formatDuration(Math.floor(event.ageMs / 1000) * 1000)}`,
    event.skewMs === undefined ? undefined : `its clock is ${event.skewMs} ms ahead`,
    event.job === undefined ? `process ${event.pid}` : undefined,
    event.reason,
  ];
  const span = [due, through, count].filter((part) => part !== undefined).join(' ');
  return oneLine([span, ...facts].filter((part) => part !== undefined && part !== '').join(', '));
}

/**
 * Every deployment says at each sweep that a job is overdue. People read it once, and then that it is over.
 *
 * @returns what to print of an event: nothing, it, or it and more
 */
function overdueNews(): (event: ClusterEvent) => readonly ClusterEvent[] {
  /** By job: since when it has been without a success, as last told. One that looked before a success may tell late. */
  const told = new Map<string, number>();
  const overdue = new Set<string>();
  return (event) => {
    const { job, ageMs } = event;
    if (job === undefined) return [event];
    if (event.event === 'overdue' && ageMs !== undefined) {
      const since = Date.parse(event.at) - ageMs;
      if (since <= (told.get(job) ?? -Infinity)) return [];
      told.set(job, since);
      overdue.add(job);
      return [event];
    }
    if (event.event !== 'succeeded' || !overdue.delete(job)) return [event];
    const { at, deployment, pid } = event;
    return [event, { event: 'overdue', at, deployment, pid, job, reason: 'no more' }];
  };
}

/** Longer than the time between two sweeps: what is said again within it has lasted. */
const LASTS_MS = 180_000;

/**
 * An instance says at each sweep what is still wrong. People read it once.
 *
 * @returns whether to print an event
 */
function troubleNews(): (event: ClusterEvent) => boolean {
  /** By process and by what was said, without numbers: when it was last said. */
  const told = new Map<number, Map<string, number>>();
  return ({ event, at, pid, job, reason }) => {
    if (event === 'healthy') told.delete(pid);
    if (event !== 'unhealthy') return true;
    const of = told.get(pid) ?? new Map<string, number>();
    told.set(pid, of);
    const what = `${job ?? ''} ${reason ?? ''}`.replaceAll(/\d+/g, '#');
    const before = of.get(what) ?? -Infinity;
    const now = Date.parse(at);
    of.set(what, now);
    return now - before > LASTS_MS;
  };
}

/** The connection string, for programs. The emulator's key is published, and opens nothing else. */
function shownStorage({ storage, azuritePid }: Started): string {
  return azuritePid === undefined ? withoutSecrets(storage) : storage;
}

/** The storage account, without its key. */
function describeStorage(cluster: Started, data: string | undefined): string {
  const part = (name: string): string | undefined =>
    new RegExp(`(?:^|;)${name}=([^;]+)`, 'i').exec(withoutSecrets(cluster.storage))?.[1];
  const where = part('BlobEndpoint') ?? part('AccountName') ?? 'the storage emulator';
  if (cluster.azuritePid === undefined) return where;
  return `Azurite at ${where}, ${data === undefined ? 'in memory (--data DIR keeps it)' : `kept in ${data}`}`;
}

export function jsonPrinter({ out, err }: Output): Printer {
  const line = (value: object): void => out(`${printableJson(value)}\n`);
  return {
    ready(cluster, { container }) {
      const instances = cluster.instances().map(({ pid, port, deployment }) => ({ pid, port, deployment }));
      line({ event: 'ready', storage: shownStorage(cluster), container, instances });
    },
    event: line,
    log: ({ level, message, functionName }, deployment) =>
      err(`${[deployment, level, functionName].filter(Boolean).join(' ')}: ${message}\n`),
    note: (text) => err(`${text}\n`),
    error: (text) => err(`${text}\n`),
  };
}

export function humanPrinter({ out, err, color }: Output): Printer {
  const paint = (style: Style, text: string): string =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const name = (deployment: string, width = 0): string => {
    const number = Number(/\d+$/.exec(deployment)?.[0] ?? 0);
    return paint(DEPLOYMENT_STYLES[number % DEPLOYMENT_STYLES.length] ?? 'blue', deployment.padEnd(width));
  };
  let jobWidth = 12;
  const print = (event: ClusterEvent): void => {
    const job = event.job ?? '';
    jobWidth = Math.min(40, Math.max(jobWidth, job.length));
    const style = STYLES[event.event] ?? 'reset';
    const text = details(event);
    out(
      `${paint('dim', timeOfDay(new Date(event.at)))}  ${name(event.deployment, 8)}  ${job.padEnd(jobWidth)}  ` +
        `${paint(style, event.event.padEnd(11))}  ${event.event === 'claimed' ? paint('dim', text) : text}\n`,
    );
  };
  const newsOf = overdueNews();
  const isNews = troubleNews();
  return {
    ready(cluster, { app, container, data }) {
      const [first] = cluster.instances();
      const rows = cluster
        .instances()
        .map(
          ({ deployment, port, pid, inspectorUrl }) =>
            `  ${name(deployment, 10)} http://127.0.0.1:${port}  pid ${pid}` +
            (inspectorUrl === undefined ? '\n' : `  debugger ${inspectorUrl}\n`),
        );
      out(
        `\n${paint('bold', rows.length === 1 ? `One deployment runs the jobs of ${app}` : `${rows.length} deployments race for the jobs of ${app}`)}\n\n` +
          `  ${'storage'.padEnd(10)} ${describeStorage(cluster, data)}\n` +
          `  ${'container'.padEnd(10)} ${container}\n${rows.join('')}\n` +
          'To try, in another terminal in that folder:\n' +
          `  ${'npx cronlease runs'.padEnd(28)} what has run, newest first\n` +
          `  ${'npx cronlease why JOB TIME'.padEnd(28)} what became of one due time, and why\n` +
          `  ${`kill -9 ${first?.pid ?? 'PID'}`.padEnd(28)} its work goes on elsewhere\n` +
          'Ctrl+C stops everything.\n\n',
      );
    },
    event: (event) => newsOf(event).filter(isNews).forEach(print),
    log({ level, message, functionName }, deployment) {
      const style: Style = level === 'warning' ? 'yellow' : level === 'error' || level === 'critical' ? 'red' : 'dim';
      const head = `${paint('dim', timeOfDay(new Date()))}  ${name(deployment, 8)}  `;
      out(`${head}${paint(style, `${functionName === undefined ? '' : `${functionName}: `}${message}`)}\n`);
    },
    note: (text) => out(`${paint('dim', text)}\n`),
    error: (text) => err(`${paint('red', text)}\n`),
  };
}
