import { type InvocationContext, type Timer, app } from '@azure/functions';
import * as df from 'durable-functions';
import { activityFence, serveFences } from '../coordinator/activity-fence';
import type { Coordinator, Hub } from '../coordinator/coordinator';
import { drain } from '../coordinator/drain';
import type { ActivityInput } from '../coordinator/message';
import type { LogLevel } from '../core/log-entry';
import { isOrchestration } from '../handler/handlers';
import { systemClock } from '../system-clock';
import { appFunctions, durableHub } from './hub';
import { type CoordinatorOptions, type Coordinators, createCoordinators } from './coordinators';
import { healthCheck, readiness } from './health';
import { functionsHost } from './host-advice';
import { METHODS, manageHandler } from './manage';
import { accessSettings, environmentSetting } from './manage-settings';
import {
  ATTEMPT,
  ATTEMPTS,
  BATCH,
  CONTINUED,
  ITEMS,
  RUN,
  orchestrateBatch,
  orchestrateContinued,
  orchestrateItems,
  orchestrateRun,
} from './orchestrator';
import { type HostCall, type ReportOf, isJsonLog, levelLog, reportTo } from './report';
import { tickSchedule } from './settings';
import { closeTelemetry, connectTelemetry, openTelemetry } from './telemetry';
import { allSettledOrThrow, createTickers, perform, type Tickers } from './tickers';

/** The most lines that wait for the next call. Older ones are dropped. */
const MOST_LATE = 200;

/**
 * Makes this function app a coordinator of the jobs: registers tick, orchestrators, activities,
 * `cronleaseHealth` and `cronleaseManage`. Call it once, while the app loads. It reads the file and the app
 * settings at once.
 *
 * @throws ConfigError (code `InvalidJobs`) with every error of the file, so that the host refuses to start
 * @throws SettingError, StorageSettingsError if an app setting cannot be used
 */
export function registerCoordinator(options: CoordinatorOptions): void {
  let setUp: { readonly coordinators: Coordinators; readonly tickers: Tickers } | undefined;
  const loaded = (): NonNullable<typeof setUp> => {
    if (setUp === undefined) throw new Error('the app did not load: see the error at its start');
    return setUp;
  };
  const coordinators = (): Coordinators => loaded().coordinators;
  serveFences((run) => activityFence(coordinators().of(run.job), run));
  // Registered first. A host that has no function yet does not report an error in the app as a failure; it looks for
  // functions of the old model and finds none. Decision 040.
  const isReady = readiness(() => coordinators().all, process.env);
  const hubOf = (context: InvocationContext): Hub => durableHub(df.getClient(context), hasFunction);
  app.http('cronleaseHealth', {
    route: 'manage/health',
    methods: ['GET'],
    authLevel: 'anonymous',
    handler: healthCheck(isReady, systemClock),
  });
  const feed = openTelemetry(process.env);
  const isJson = isJsonLog(process.env);
  const late: LateLines = [];
  const reporting = <Result>(context: HostCall, work: (reportOf: ReportOf) => Promise<Result>): Promise<Result> =>
    duringCall(context, late, (call) => work((coordinator) => reportTo(call, { coordinator, feed, isJson })));
  // Keys of the host would be the same for all. `src/manage/access.ts` decides who may call.
  app.http('cronleaseManage', {
    route: 'manage/{*path}',
    methods: [...METHODS],
    authLevel: 'anonymous',
    // Only for pokes. The host makes this input from its own settings, without a call.
    extraInputs: [df.input.durableClient()],
    handler: manageHandler({
      coordinators,
      isReady,
      access: accessSettings(process.env),
      environment: environmentSetting(process.env),
      poke: (context) => reporting(context, (reportOf) => loaded().tickers.poke(hubOf(context), reportOf)),
      dashboard: async () => (await import('../dashboard/files.js')).DASHBOARD,
      env: process.env,
      appFolder: process.cwd(),
    }),
  });

  const tick = tickSchedule(process.env);
  const host = functionsHost(process.env, process.cwd());
  const made = createCoordinators(options, { env: process.env, host, feed });
  setUp = { coordinators: made, tickers: createTickers(made.all) };
  const hasFunction = appFunctions(orchestratorsOf(made.all));
  const connected = feed && connectTelemetry(feed, made, process.env);

  app.timer('cronleaseTick', {
    schedule: tick.text,
    // A developer should not have to wait for the first fire. On Azure, each start of an instance would be a tick.
    runOnStartup: process.env['AZURE_FUNCTIONS_ENVIRONMENT'] === 'Development',
    extraInputs: [df.input.durableClient()],
    handler: async (_timer: Timer, context: InvocationContext) => {
      await connected;
      await reporting(context, (reportOf) => loaded().tickers.tick(hubOf(context), tick.nextFire, reportOf));
    },
  });
  registerDurable(async (input, context, hub) => {
    await connected;
    return reporting(context, (reportOf) => perform(coordinators(), input, hub, reportOf));
  });
  app.hook.appTerminate(async () => {
    await allSettledOrThrow(made.all.map(drain));
    if (feed !== undefined) await closeTelemetry(feed);
  });
}

/** The names of the app's own orchestrators that are jobs. */
function orchestratorsOf(coordinators: readonly Coordinator[]): readonly string[] {
  const handlers = coordinators.flatMap(({ jobs }) => Array.from(jobs.values(), ({ handler }) => handler));
  return handlers.filter(isOrchestration).map(({ orchestrator }) => orchestrator);
}

function registerDurable(
  carryOut: (input: ActivityInput, context: InvocationContext, hub: () => Hub) => Promise<unknown>,
): void {
  df.app.orchestration(RUN, orchestrateRun);
  df.app.orchestration(CONTINUED, orchestrateContinued);
  df.app.orchestration(BATCH, orchestrateBatch);
  df.app.orchestration(ITEMS, orchestrateItems);
  const handler = (input: ActivityInput, context: InvocationContext): Promise<unknown> =>
    carryOut(input, context, () => durableHub(df.getClient(context)));
  df.app.activity(ATTEMPT, { handler });
  df.app.activity(ATTEMPTS, { extraInputs: [df.input.durableClient()], handler });
}

/** What was said by work that has outlived its call: a notice on its way, or a handler that ignores its signal. */
type LateLines = { readonly level: LogLevel; readonly message: readonly unknown[] }[];

/** Does the work of one call of the host, which loses lines that come after it: they wait for the next call. */
export async function duringCall<Result>(
  call: HostCall,
  late: LateLines,
  work: (open: HostCall) => Promise<Result>,
): Promise<Result> {
  let isOver = false;
  const { invocationId, traceContext } = call;
  const levels = levelLog((level, message) => {
    if (!isOver) call[level](...message);
    else if (late.push({ level, message }) > MOST_LATE) late.shift();
  });
  for (const { level, message } of late.splice(0)) levels[level](...message);
  try {
    return await work({ ...levels, invocationId, traceContext });
  } finally {
    isOver = true;
  }
}
