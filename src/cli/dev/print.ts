import { userFrames } from '../../core/recorded-error';
import { showTimeOfDay } from '../../core/show-time';
import { printable, printableJson } from '../../core/text';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { withoutSecrets } from '../../local/cluster/secrets';
import type { LogLine } from '../../local/host/core-api';
import { OWN, shown, type Style, style as styled } from '../output';
import { type About, banner, type Started } from './banner';
import { eventLines, eventName } from './event-line';
import { overdueNews, troubleNews } from './news';

/** Prints events: for people, a line for each event that is news; for programs, a JSON line for each event. */
export interface Printer {
  /** Prints the first lines, once everything runs. */
  ready(cluster: Started, about: About): void;
  event(event: ClusterEvent): void;
  log(line: LogLine, deployment: string): void;
  /** A message of the command itself. */
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
      const longest = (texts: readonly string[], least: number): number =>
        Math.max(least, ...texts.map((one) => one.length));
      const jobs = about.jobs.map((job) => job.name);
      const deployments = cluster.instances().map(({ deployment }) => deployment);
      jobWidth = Math.min(JOB_WIDTH_AT_MOST, longest(jobs, 0) || jobWidth);
      deploymentWidth = longest(deployments, deploymentWidth);
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
