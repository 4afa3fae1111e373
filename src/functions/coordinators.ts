import type { Outlet } from '../coordinator/outlet';
import { given } from '../core/given';
import { randomUUID } from 'node:crypto';
import { type ConfigIssue, formatIssue } from '../config/config-error';
import { loadJobs } from '../config/load';
import {
  type Coordinator,
  type Env,
  type PresenceFacts,
  type RunnableJob,
  createCoordinator,
} from '../coordinator/coordinator';
import { createConcurrencyLimit } from '../coordinator/concurrency-limit';
import type { JobName } from '../core/brand';
import { longestWait } from '../core/early-claim';
import type { JobSpec } from '../core/job';
import { shardOf } from '../core/layout';
import type { Handlers } from '../handler/handlers';
import { dealtStore } from '../lease/dealt-store';
import type { LeaseStore } from '../lease/store';
import { createPings } from '../notices/ping';
import { post } from '../notices/request';
import { createSender } from '../notices/sender';
import type { Call } from '../notices/try';
import { STORE_LIMITS } from '../stores/limits';
import { auditedStores, openShards, openStore } from '../stores/open';
import { systemClock } from '../system-clock';
import type { Feed } from '../telemetry/feed';
import { VERSION } from '../version';
import { createTickers } from './tickers';
import type { Environment } from './app-settings';
import type { HostFacts } from './host-advice';
import { type CallSettings, callHandlers, callSettings, noticeSettings, type NoticeSettings } from './remote-settings';
import { environmentSetting } from './manage-settings';
import { redactSetting } from './redact';
import {
  containerName,
  deploymentName,
  durationSetting,
  longestGap,
  SettingError,
  shardNames,
  tickSchedule,
  unresolvedSettings,
} from './settings';

/** The limit of a host that has none: nearly the longest time that a timer of Node can wait. */
const NO_TIMEOUT_MS = 20 * 24 * 3_600_000;

/** The options of {@link registerCoordinator}. */
export interface CoordinatorOptions {
  /** The jobs file: a path, absolute or relative to `process.cwd()`, or an object of its shape. */
  readonly jobs: string | object;
  /** The handlers that the jobs name. */
  readonly handlers: Handlers;
  /**
   * The storage accounts over which the jobs are dealt: the names of app settings that hold their connections. The app
   * setting `CRONLEASE_SHARDS` goes before it. Default: only the connection `CRONLEASE_STORAGE`.
   */
  readonly shards?: readonly string[];
}

/** What the coordinators of a process share. */
type Shared = Omit<Env, 'store' | 'jobs' | 'place'> & { readonly presence: PresenceFacts };

/** The process in which the coordinators work. */
export interface AppProcess {
  readonly env: Environment;
  readonly host: HostFacts;
  /** Undefined: nothing is exported. */
  readonly feed: Feed | undefined;
}

/** The coordinators of this process: one for each storage account, with the jobs that are dealt to it. */
export type Coordinators = ReturnType<typeof createCoordinators>;

/** Reads the file and the settings. Decision 107. Throws ConfigError, SettingError, StorageSettingsError. */
export function createCoordinators(options: CoordinatorOptions, { env, host, feed }: AppProcess) {
  // An empty setting counts as unset, as everywhere.
  const source = env['CRONLEASE_JOBS_FILE'] || options.jobs;
  const { handlers } = options;
  let calls: CallSettings | undefined;
  const { jobsFile, warnings, inputs } = loadJobs(source, {
    baseFolder: process.cwd(),
    functionTimeoutMs: host.functionTimeoutMs,
    handlers,
    calls: () => (calls ??= callSettings(env)),
    now: systemClock.now(),
    // Where the app is developed. On Azure, no start of an instance looks at a year of each schedule.
    clockChanges: env['AZURE_FUNCTIONS_ENVIRONMENT'] === 'Development',
    leaseMs: STORE_LIMITS.leaseMs,
  });
  const notices = noticeSettings(env);
  const unresolved = unresolvedSettings(env);
  const advice = [...host.warnings, ...unknownNames(jobsFile.jobs, notices, unresolved)];
  const told = [...unresolved.values(), ...[...warnings, ...advice].map(formatIssue)];
  for (const warning of told) console.warn(`Warning: ${warning}`);

  const stores = openStores(options.shards, env, feed);
  const accounts = stores.map(({ location }) => location);
  refuseApart(jobsFile.jobs, accounts);
  const shared = sharedBy(stores, { revision: jobsFile.revision, env, host });
  const environment = environmentSetting(env)?.name;
  const runnable = runnableJobs(jobsFile.jobs, handlers, inputs, calls && callHandlers(calls, env, feed?.requested));
  const all = stores.map((store, index) => {
    const own = [...runnable].filter(([name]) => shardOf(name, accounts) === index);
    const coordinator = createCoordinator({
      ...shared,
      store,
      jobs: new Map(own),
      ...(accounts.length > 1 && { place: { accounts, index } }),
    });
    coordinator.outlet = createOutlet(notices, coordinator, shared.presence.instance, environment);
    return coordinator;
  });
  const [first] = all;
  if (first === undefined) throw new Error('there is no storage account');
  return {
    all,
    first,
    of: (job: string): Coordinator => all[shardOf(job, accounts)] ?? first,
    tickers: createTickers(all),
    /** The store as people see it: the jobs of all accounts. */
    store: dealtStore(stores),
    /** All jobs of the file that have a handler. */
    jobs: [...runnable.values()].map(({ spec }) => spec),
  };
}

function openStores(
  shards: readonly string[] | undefined,
  env: Environment,
  feed: Feed | undefined,
): readonly LeaseStore[] {
  const connection = { settings: env, container: containerName(env), clock: systemClock, onOutcome: feed?.called };
  const names = shardNames(env, shards);
  const stores = names === undefined ? [openStore(connection)] : openShards(connection, names);
  const opened = auditedStores(connection, stores);
  return feed === undefined ? opened : opened.map((store) => feed.measured(store));
}

/** A tick reads a required job with the listing of its account, and a group lies in the account of its jobs. */
export function refuseApart(jobs: readonly JobSpec[], accounts: readonly string[]): void {
  const areApart = (one: string, other: string): boolean => shardOf(one, accounts) !== shardOf(other, accounts);
  const refuse = (problem: string, beginning: string, one: string, other: string): never => {
    const remedy =
      'Names with the same beginning before "--" are in one account: use ' +
      `"${beginning}--${one}" and "${beginning}--${other}", for example`;
    throw new SettingError('CRONLEASE_SHARDS', accounts.join(', '), `${problem}. ${remedy}`);
  };
  const firstOf = new Map<string, JobName>();
  for (const { name, group } of jobs) {
    if (group === undefined) continue;
    const first = firstOf.get(group.name) ?? name;
    firstOf.set(group.name, first);
    const problem = `jobs "${first}" and "${name}" of group "${group.name}" are in two accounts`;
    if (areApart(first, name)) refuse(problem, group.name, first, name);
  }
  for (const { name, requires } of jobs) {
    const apart = requires.find((other) => areApart(other, name));
    if (apart === undefined) continue;
    refuse(`job "${name}" requires "${apart}", which is in another account`, 'chain', name, apart);
  }
}

function sharedBy(
  stores: readonly LeaseStore[],
  { revision, env, host }: Omit<AppProcess, 'feed'> & { readonly revision: number },
): Shared {
  const { attemptsAtOnce, maxConcurrentRuns } = host;
  const redact = redactSetting(env);
  const lookAheadMs = durationSetting(env, 'CRONLEASE_LOOK_AHEAD', 5_000, 0, 60_000);
  const longestLeaseMs = Math.max(...stores.map(({ limits }) => limits.leaseMs.most));
  return {
    clock: systemClock,
    random: Math.random,
    newId: randomUUID,
    deployment: deploymentName(env),
    revision,
    settings: {
      lookAheadMs,
      longestLookAheadMs: lookAheadMs === 0 ? 0 : Math.max(lookAheadMs, longestWait(longestLeaseMs)),
      // Each account's burst leaves the others their share of the host.
      ...(attemptsAtOnce !== undefined && { attemptsAtOnce: Math.max(1, Math.floor(attemptsAtOnce / stores.length)) }),
      sweepIntervalMs: durationSetting(env, 'CRONLEASE_SWEEP_INTERVAL', 60_000, 1_000, 3_600_000),
      functionTimeoutMs: host.functionTimeoutMs ?? NO_TIMEOUT_MS,
    },
    ...(maxConcurrentRuns === undefined
      ? {}
      : { concurrencyLimit: createConcurrencyLimit(systemClock, maxConcurrentRuns) }),
    ...given({ redact }),
    presence: {
      instance: randomUUID(),
      version: VERSION,
      hubAccount: host.hubAccount,
      tickEveryMs: longestGap(tickSchedule(env).nextFire, systemClock.now()),
    },
  };
}

function runnableJobs(
  specs: readonly JobSpec[],
  handlers: Handlers,
  inputs: ReadonlyMap<JobName, unknown>,
  callHandler: ReturnType<typeof callHandlers> | undefined,
): Map<JobName, RunnableJob> {
  const runnable = specs.flatMap((spec) => {
    const handler = spec.call === undefined ? handlers[spec.handler] : callHandler?.(spec, spec.call);
    return handler === undefined ? [] : [[spec.name, { spec, handler, input: inputs.get(spec.name) }] as const];
  });
  return new Map(runnable);
}

/** The sender of this process; undefined if its settings name no receiver and no ping. */
function createOutlet(
  { receivers, pings, guard, publicAddress }: NoticeSettings,
  { store, clock, serviceTime, deployment }: Coordinator,
  instance: string,
  environment: string | undefined,
): Outlet | undefined {
  if (receivers.size === 0 && pings.size === 0) return undefined;
  const now = (): number => serviceTime.now();
  const call: Call = (posting) => post(posting, { guard, clock });
  const origin = { source: store.location, deployment, environment, publicAddress };
  return {
    ...createSender({ store, clock, now, instance, receivers, origin, call }),
    ping: createPings(clock, pings, call),
  };
}

/** Names in the file that the settings lack, except for `unresolved` ones. Another deployment may have them. */
export function unknownNames(
  specs: readonly JobSpec[],
  { receivers, pings }: NoticeSettings,
  unresolved: ReadonlyMap<string, string>,
): readonly ConfigIssue[] {
  const issue = (path: string, value: string, setting: string): ConfigIssue => ({
    path,
    value,
    message: `has no address in the app setting ${setting} of this app`,
    remedy: 'add it there, or correct the name',
  });
  return specs.flatMap(({ name, notify, ping }) => [
    ...(notify?.to ?? [])
      .filter((receiver) => !receivers.has(receiver) && !unresolved.has('CRONLEASE_RECEIVERS'))
      .map((receiver) => issue(`jobs.${name}.notify.to`, receiver, 'CRONLEASE_RECEIVERS')),
    ...(ping === undefined || pings.has(ping) || unresolved.has('CRONLEASE_PINGS')
      ? []
      : [issue(`jobs.${name}.ping`, ping, 'CRONLEASE_PINGS')]),
  ]);
}
