import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { app } from '@azure/functions';
import type { InvocationContext, Timer } from '@azure/functions';
import * as df from 'durable-functions';
import { formatIssue } from '../config/config-error';
import { loadJobs } from '../config/load';
import { runAttempt } from '../coordinator/attempt/attempt';
import type { Coordinator, Report, RunnableJob } from '../coordinator/coordinator';
import { Health } from '../coordinator/coordinator';
import { drain } from '../coordinator/drain';
import type { Handlers } from '../handler/handlers';
import type { AttemptInput, AttemptResult } from '../coordinator/message';
import { createSlots } from '../coordinator/slots';
import type { Poke } from '../coordinator/tick/poke';
import { onePokeAtOnce } from '../coordinator/tick/poke';
import { createTicker } from '../coordinator/tick/tick';
import { longestWait } from '../core/early-claim';
import type { JobName } from '../core/brand';
import { formatEvent } from '../core/event';
import { serviceTime } from '../lease/service-time';
import { STORE_LIMITS } from '../stores/limits';
import { openStore } from '../stores/open';
import { systemClock } from '../system-clock';
import { healthCheck, readiness } from './health';
import { hostAdvice, limitAdvice } from './host-advice';
import { durableHub } from './hub';
import { redactSetting } from './redact';
import { manageHandler, METHODS } from './manage';
import { accessSettings, environmentSetting } from './manage-settings';
import { ATTEMPT, ITEMS, orchestrateItems, orchestrateRun, RUN } from './orchestrator';
import { VERSION } from '../version';
import {
  attemptsAtOnce,
  containerName,
  deploymentName,
  durationSetting,
  functionTimeout,
  hubAccount,
  maxConcurrentRuns,
  tickSchedule,
} from './settings';

const NOT_LOADED = 'the app did not load: see the error at its start';

/** The options of {@link registerCoordinator}. */
export interface CoordinatorOptions {
  /** The jobs file: a path, absolute or relative to `process.cwd()`, or an object of its shape. */
  readonly jobs: string | object;
  /** The handlers that the jobs name. */
  readonly handlers: Handlers;
}

/**
 * Makes this function app a coordinator of the jobs: registers `cronleaseTick`, `cronleaseRun`, `cronleaseItems`,
 * `cronleaseAttempt`, `cronleaseHealth` and `cronleaseManage`. Call it once, while the app loads. It reads the file and the app settings
 * at once.
 *
 * @throws ConfigError (code `InvalidJobs`) with every error of the file, so that the host refuses to start
 * @throws SettingError, StorageSettingsError if an app setting cannot be used
 */
export function registerCoordinator(options: CoordinatorOptions): void {
  const setUp: { coordinator?: Coordinator; poke?: Poke } = {};
  const coordinator = (): Coordinator => {
    if (setUp.coordinator === undefined) throw new Error(NOT_LOADED);
    return setUp.coordinator;
  };
  // Registered first. A host that has no function yet does not report an error in the app as a failure; it looks for
  // functions of the old model and finds none.
  const isReady = readiness(coordinator);
  const poke: Poke = (hub, report) => {
    if (setUp.poke === undefined) throw new Error(NOT_LOADED);
    return setUp.poke(hub, report);
  };
  app.http('cronleaseHealth', {
    route: 'manage/health',
    methods: ['GET'],
    authLevel: 'anonymous',
    handler: healthCheck(isReady),
  });
  // Keys of the host would be the same for everybody. `src/manage/access.ts` decides who may call.
  app.http('cronleaseManage', {
    route: 'manage/{*path}',
    methods: [...METHODS],
    authLevel: 'anonymous',
    // For pokes alone. The host makes this input from its own settings, without a call.
    extraInputs: [df.input.durableClient()],
    handler: manageHandler({
      ...{ coordinator, isReady, access: accessSettings(process.env) },
      environment: environmentSetting(process.env),
      poke: (context) => poke(durableHub(df.getClient(context)), reportTo(context, coordinator())),
      dashboard: async () => (await import('../dashboard/files.js')).DASHBOARD,
      ...{ env: process.env, appFolder: process.cwd() },
    }),
  });

  const tick = tickSchedule(process.env);
  setUp.coordinator = createCoordinator(options);
  const ticker = createTicker(coordinator());
  setUp.poke = onePokeAtOnce(coordinator(), ticker);

  app.timer('cronleaseTick', {
    schedule: tick.text,
    // A developer should not have to wait for the first fire. On Azure, each start of an instance would be a tick.
    runOnStartup: process.env['AZURE_FUNCTIONS_ENVIRONMENT'] === 'Development',
    extraInputs: [df.input.durableClient()],
    handler: async (_timer: Timer, context: InvocationContext) => {
      await ticker.tick(durableHub(df.getClient(context)), tick.nextFire, reportTo(context, coordinator()));
    },
  });
  df.app.orchestration(RUN, orchestrateRun);
  df.app.orchestration(ITEMS, orchestrateItems);
  df.app.activity(ATTEMPT, {
    handler: (input: AttemptInput, context: InvocationContext): Promise<AttemptResult> =>
      runAttempt(coordinator(), input, reportTo(context, coordinator())),
  });
  app.hook.appTerminate(() => drain(coordinator()));
}

function createCoordinator({ jobs, handlers }: CoordinatorOptions): Coordinator {
  const env = process.env;
  const appFolder = process.cwd();
  const functionTimeoutMs = functionTimeout(env, appFolder);
  const redact = redactSetting(env);
  // An empty setting counts as unset, as everywhere.
  const source = env['CRONLEASE_JOBS_FILE'] || jobs;
  const { jobsFile, warnings, inputs } = loadJobs(source, {
    ...{ baseFolder: appFolder, functionTimeoutMs, handlers },
    now: systemClock.now(),
    leaseMs: STORE_LIMITS.leaseMs,
  });
  const atOnce = attemptsAtOnce(env, appFolder);
  const limit = maxConcurrentRuns(env);
  const advice = [...hostAdvice(env, appFolder).warnings, ...limitAdvice(limit, atOnce)];
  for (const warning of [...warnings, ...advice]) console.warn(`Warning: ${formatIssue(warning)}`);

  const runnable = new Map<JobName, RunnableJob>();
  for (const spec of jobsFile.jobs) {
    const handler = handlers[spec.handler];
    if (handler !== undefined) runnable.set(spec.name, { spec, handler, input: inputs.get(spec.name) });
  }
  const store = openStore({ settings: env, container: containerName(env), clock: systemClock });
  const lookAheadMs = durationSetting(env, 'CRONLEASE_LOOK_AHEAD', 5_000, 0, 60_000);
  return {
    store,
    clock: systemClock,
    serviceTime: serviceTime(systemClock),
    random: Math.random,
    newId: randomUUID,
    deployment: deploymentName(env),
    revision: jobsFile.revision,
    jobs: runnable,
    settings: {
      lookAheadMs,
      longestLookAheadMs: lookAheadMs === 0 ? 0 : Math.max(lookAheadMs, longestWait(store.limits.leaseMs.most)),
      attemptsAtOnce: atOnce,
      sweepIntervalMs: durationSetting(env, 'CRONLEASE_SWEEP_INTERVAL', 60_000, 1_000, 3_600_000),
      functionTimeoutMs,
    },
    ...(limit === undefined ? {} : { slots: createSlots(systemClock, limit) }),
    ...(redact === undefined ? {} : { redact }),
    presence: { instance: randomUUID(), version: VERSION, hubAccount: hubAccount(env, appFolder, hostname()) },
    health: new Health(),
    running: new Set(),
    ticks: new Set(),
    handOvers: new Map(),
    ended: new Map(),
    stopping: false,
  };
}

/** Writes events and logs of an invocation to that invocation's log. */
function reportTo(context: InvocationContext, { deployment }: Coordinator): Report {
  const levels = {
    debug: context.debug.bind(context),
    info: context.info.bind(context),
    warn: context.warn.bind(context),
    error: context.error.bind(context),
  };
  const troubled = new Set(['failed', 'timedOut', 'stalled', 'overdue', 'clockSkew', 'unhealthy', 'warning']);
  return {
    event: (event) => {
      levels[troubled.has(event.event) ? 'warn' : 'info'](formatEvent(event, deployment));
    },
    log: (level, ...message) => {
      levels[level](...message);
    },
  };
}
