import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { durableClientInput, serveHub } from '../durable/management';
import { createHub } from '../durable/hub';
import { hubFiles } from '../durable/hub-files';
import { AppLoadError, type AppPackage, readHostJson, readLocalSettings, readPackage } from './app-folder';
import { type AppRegistry, type LogLine, createRegistry, installCoreApi, runHooks } from './core-api';
import { type HostedFunction, checkFunctions } from './functions';
import { type RequestHandler, listen, serveFunctions } from './http-server';
import { createInvoke } from './invoke';
import { type TimerLock, startLocked, startTimer } from './timer';

export interface HostOptions {
  /** Absolute path of the app's folder. It becomes the process's working directory, as in the real worker. */
  readonly app: string;
  /** The files that register its functions: a path or a glob. Default: `main` of its `package.json`. */
  readonly main?: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  /** Settings for this host, which override the environment and `local.settings.json`. */
  readonly settings: Readonly<Record<string, string>>;
  /** Settings for names that neither the environment nor `local.settings.json` has. */
  readonly defaults: Readonly<Record<string, string>>;
  /** Whether a function that this host cannot run is an error. Otherwise it is skipped, with a warning. */
  readonly strict: boolean;
  /** The folder of the task hub's unfinished instances, for the deployment's next host. */
  readonly hubFolder: string;
  /** The lock on timers that the instances of one app share; undefined: this is the app's only instance. */
  readonly timerLock?: TimerLock | undefined;
  /** For measurements: how long each activity's message takes to arrive, in ms. Default: 0. */
  readonly handOverDelayMs?: number;
  readonly log: (line: LogLine) => void;
  /** Called when an invocation has lasted longer than `functionTimeout`: the process must end now. */
  readonly onTimeout: () => void;
}

export interface Host {
  readonly port: number;
  readonly functions: readonly HostedFunction[];
  /**
   * Ends the host as the real one ends at SIGTERM. Timers stop, and the hub accepts orchestrations but runs none. The
   * host waits up to 10 s for running invocations, without a signal to the app. Then the app's `appTerminate` hooks
   * run, for up to 5 s.
   * @param hurry - once aborted, the host does not wait for invocations
   */
  stop(hurry: AbortSignal): Promise<void>;
}

/** The time for which the real host waits for running invocations. */
const IDLE_MS = 10_000;
/** The time that the real host gives to `appTerminate` hooks. */
const TERMINATE_MS = 5000;

function applySettings(options: HostOptions): void {
  const given = { ...options.defaults, ...readLocalSettings(options.app) };
  for (const [name, value] of Object.entries(given)) process.env[name] ??= value;
  Object.assign(process.env, {
    FUNCTIONS_WORKER_RUNTIME: 'node',
    AZURE_FUNCTIONS_ENVIRONMENT: process.env['AZURE_FUNCTIONS_ENVIRONMENT'] ?? 'Development',
    ...options.settings,
  });
  // The Durable client would use a proxy even for its own host.
  for (const name of ['NO_PROXY', 'no_proxy']) {
    process.env[name] = [process.env[name], '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  }
}

async function loadEntryPoint(file: string, { esm }: AppPackage): Promise<void> {
  const isModule = file.endsWith('.mjs') || (esm && !file.endsWith('.cjs'));
  if (isModule) await import(pathToFileURL(file).href);
  else createRequire(file)(file);
}

/** The text for an exception during the app's load: a message that was written for people, or else the whole stack. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const forPeople = error instanceof AppLoadError || 'code' in error;
  return forPeople ? error.message : (error.stack ?? error.message);
}

interface LoadedApp {
  readonly functions: readonly HostedFunction[];
  /** Where the app takes HTTP requests as streams; undefined: it takes them as messages. */
  readonly streamsTo: string | undefined;
}

/** Loads the app's code, runs its `appStart` hooks, and checks what it has registered. */
async function loadApp(
  options: HostOptions,
  app: AppPackage,
  registry: AppRegistry,
  routePrefix: string,
): Promise<LoadedApp> {
  for (const file of app.entryPoints) {
    try {
      await loadEntryPoint(file, app);
    } catch (error) {
      const name = path.relative(options.app, file);
      throw new AppLoadError(`Worker was unable to load entry point "${name}": ${explain(error)}`, { cause: error });
    }
  }
  try {
    await runHooks(registry, 'appStart', {
      hookData: registry.appLevelHookData,
      appHookData: registry.appHookData,
      functionAppDirectory: options.app,
    });
  } catch (error) {
    throw new AppLoadError(`An appStart hook failed: ${explain(error)}`, { cause: error });
  }
  registry.locked = true;
  const capabilities = await registry.programmingModel?.getCapabilities?.({});
  const { strict } = options;
  const { hosted, skipped } = checkFunctions(registry.functions.values(), { routePrefix, strict });
  for (const message of skipped) {
    options.log({ level: 'warning', message: `${message} "func start" runs it; --strict refuses it.` });
  }
  return { functions: hosted, streamsTo: capabilities?.['HttpUri'] };
}

/**
 * Marks requests as let in by this host, as Azure marks those of a login. The app itself checks where they come from.
 *
 * @param secret undefined: the host does not belong to `cronlease dev`
 */
function vouch(secret: string | undefined): RequestHandler {
  return ({ headers }) => {
    delete headers['x-cronlease-dev'];
    if (secret !== undefined && headers['x-cronlease-key'] === undefined) headers['x-cronlease-dev'] = secret;
    return Promise.resolve(false);
  };
}

/** Leads from the bare address to the dashboard, if the app has one and no function there. */
function openDashboard(functions: readonly HostedFunction[], routePrefix: string): RequestHandler {
  const hasDashboard = functions.some(({ name }) => name === 'cronleaseManage');
  const location = `${routePrefix === '' ? '' : `/${routePrefix}`}/manage/`;
  return ({ method }, response, { pathname }) => {
    if (!hasDashboard || pathname !== '/' || (method !== 'GET' && method !== 'HEAD')) return Promise.resolve(false);
    response.writeHead(302, { location, 'cache-control': 'no-store' }).end();
    return Promise.resolve(true);
  };
}

/**
 * Runs a function app in this process, as one instance of one deployment. It replaces `func start` for apps of timer,
 * HTTP, orchestration, activity and entity functions with durable clients. A process can be only one host, and only once.
 * @throws {@link AppLoadError} if the app cannot be loaded, `PortInUseError` if the port is taken
 */
export async function startHost(options: HostOptions): Promise<Host> {
  applySettings(options);
  const { log } = options;
  const app = readPackage(options.app, options.main);
  const settings = readHostJson(options.app, os.availableParallelism());
  process.chdir(options.app);
  const reportError = (functionName: string, error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log({ level: 'error', message: text, functionName });
  };

  // Listening comes first, so that the app finds its own address while it loads.
  const handlers: RequestHandler[] = [];
  const onRequestError = (error: unknown): void =>
    log({ level: 'error', message: `HTTP request failed: ${String(error)}` });
  const { server, port } = await listen(options.port, handlers, onRequestError);
  process.env['WEBSITE_HOSTNAME'] = `127.0.0.1:${port}`;

  const registry = createRegistry();
  installCoreApi(registry, log);
  const { functions, streamsTo } = await loadApp(options, app, registry, settings.routePrefix);

  const clientInput = durableClientInput(`http://127.0.0.1:${port}`, settings.hubName);
  const { invoke, idle } = createInvoke({
    registry,
    sink: log,
    clientInput: { string: clientInput },
    timeoutMs: settings.functionTimeoutMs,
    onTimeout(message) {
      log({ level: 'critical', message });
      options.onTimeout();
    },
  });
  const hub = createHub({
    functions,
    invoke,
    maxConcurrentActivities: settings.maxConcurrentActivities,
    handOverDelayMs: options.handOverDelayMs,
    files: hubFiles(options.hubFolder),
    visibility: settings.visibility,
    onError: reportError,
  });
  const httpFunctions = functions.filter((fn) => fn.kind === 'http');
  handlers.push(
    vouch(process.env['CRONLEASE_DEV_SECRET']),
    serveHub(hub, settings.hubName),
    serveFunctions(httpFunctions, { invoke, streamsTo, onError: (fn, error) => reportError(fn.name, error) }),
    openDashboard(httpFunctions, settings.routePrefix),
  );
  const timers = functions
    .filter((fn) => fn.kind === 'timer')
    .map((fn) => {
      const start = (): (() => void) =>
        startTimer(fn, async (info) => {
          try {
            await invoke(fn, { trigger: { json: JSON.stringify(info) } });
          } catch (error) {
            reportError(fn.name, error);
          }
        });
      const { timerLock } = options;
      if (timerLock === undefined) return { stop: start(), release: () => undefined };
      return startLocked(timerLock, fn.name, settings.timerLock, start);
    });

  return {
    port,
    functions,
    async stop(hurry) {
      for (const timer of timers) timer.stop();
      hub.stop();
      await Promise.race([idle(), sleep(IDLE_MS, undefined, { signal: hurry }).catch(() => undefined)]);
      for (const timer of timers) timer.release();
      const shared = { hookData: registry.appLevelHookData, appHookData: registry.appHookData };
      try {
        const ended = runHooks(registry, 'appTerminate', shared).then(() => true);
        if (!(await Promise.race([ended, sleep(TERMINATE_MS, false)])))
          log({ level: 'warning', message: `An appTerminate hook took more than ${TERMINATE_MS / 1000} s.` });
      } catch (error) {
        log({ level: 'error', message: `An appTerminate hook failed: ${explain(error)}` });
      }
      server.close();
      server.closeAllConnections();
    },
  };
}
