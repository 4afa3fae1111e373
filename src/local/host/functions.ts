import { CronExpressionParser } from 'cron-parser';
import { ScheduleError } from '../../core/schedule/schedule-error';
import { parseTimeSpan } from '../../core/duration';
import { ncrontabFields } from '../../import/cron-field';
import { AppLoadError, resolveSettings } from './app-folder';
import type { RegisteredFunction } from './core-api';
import { type Route, compileRoute } from './routes';
import type { Binding } from './rpc';

interface Common {
  readonly name: string;
  readonly registered: RegisteredFunction;
  readonly trigger: string;
  readonly clientInputs: readonly string[];
}

export interface TimerFunction extends Common {
  readonly kind: 'timer';
  readonly next: NextFire;
  readonly runOnStartup: boolean;
  readonly useMonitor: boolean;
}

export interface HttpFunction extends Common {
  readonly kind: 'http';
  readonly route: Route;
  /** Upper case. */
  readonly methods: readonly string[];
}

/** A function of an app, of one of the kinds that the embedded host runs. */
export type HostedFunction =
  TimerFunction | HttpFunction | (Common & { readonly kind: 'orchestration' | 'activity' | 'entity' });

const SUPPORTED =
  'The embedded host runs timerTrigger, httpTrigger, orchestrationTrigger, activityTrigger and entityTrigger, ' +
  'with durableClient inputs; run the app with Azure Functions Core Tools ("func start") for anything else.';

/** The real host may run this function, but the embedded host cannot. */
class UnsupportedError extends AppLoadError {
  constructor(
    functionName: string,
    readonly what: string,
  ) {
    super(`Function '${functionName}': ${what} ${SUPPORTED}`);
  }
}

/** Splits a function's bindings into its trigger and its durable client inputs, and refuses any other. */
function readBindings(name: string, bindings: Readonly<Record<string, Binding>>) {
  let trigger: { readonly name: string; readonly type: string; readonly binding: Binding } | undefined;
  const clientInputs: string[] = [];
  for (const [bindingName, binding] of Object.entries(bindings)) {
    const type = (binding.type ?? '').toLowerCase();
    if (type.endsWith('trigger')) trigger = { name: bindingName, type, binding };
    else if (binding.direction === 'in' && (type === 'durableclient' || type === 'orchestrationclient')) {
      clientInputs.push(bindingName);
    } else if (!(binding.direction === 'out' && type === 'http' && bindingName === '$return')) {
      const kind = binding.direction === 'in' ? 'input' : 'output';
      throw new UnsupportedError(name, `the ${kind} binding '${binding.type ?? ''}' is not supported here.`);
    }
  }
  if (trigger === undefined) throw new AppLoadError(`Function '${name}' has no trigger.`);
  return { trigger, clientInputs };
}

/** The host's view of a function. A function that it cannot run is an error with the function's name. */
function toHosted(registered: RegisteredFunction, routePrefix: string): HostedFunction {
  const { name, bindings, retryOptions } = registered.metadata;
  if (!/^[A-Za-z][\w-]{0,126}$/.test(name)) {
    throw new AppLoadError(`'${name}' is not a function name: a letter first, then letters, digits, '_' and '-'.`);
  }
  const { trigger, clientInputs } = readBindings(name, bindings);
  if (retryOptions !== undefined) throw new UnsupportedError(name, 'a retry policy of the host is not supported here.');
  const common = { name, registered, trigger: trigger.name, clientInputs };
  const { binding } = trigger;
  switch (trigger.type) {
    case 'timertrigger':
      return {
        kind: 'timer',
        ...common,
        next: parseSchedule(String(binding['schedule']), name),
        runOnStartup: binding['runOnStartup'] === true,
        useMonitor: binding['useMonitor'] !== false,
      };
    case 'httptrigger': {
      const route = typeof binding['route'] === 'string' ? binding['route'] : name;
      const methods = Array.isArray(binding['methods'])
        ? binding['methods'].map((one) => String(one).toUpperCase())
        : [];
      return { kind: 'http', ...common, methods, route: compileRoute(routePrefix, route, name) };
    }
    case 'orchestrationtrigger':
      return { kind: 'orchestration', ...common };
    case 'activitytrigger':
      return { kind: 'activity', ...common };
    case 'entitytrigger':
      return { kind: 'entity', ...common };
    default:
      throw new UnsupportedError(name, `the trigger '${binding.type ?? ''}' is not supported here.`);
  }
}

function isDisabled(name: string, env: NodeJS.ProcessEnv): boolean {
  const value = env[`AzureWebJobs.${name}.Disabled`] ?? env[`AzureWebJobs__${name}__Disabled`];
  return value !== undefined && /^(1|true)$/i.test(value);
}

export interface CheckedFunctions {
  readonly hosted: readonly HostedFunction[];
  /** A message for each function that the embedded host cannot run, with its name and the reason. */
  readonly skipped: readonly string[];
}

/**
 * Checks all registered functions. An app without any is an error: the real host would start, and do nothing.
 * @param strict - rejects a function that the embedded host cannot run, instead of skipping it
 * @throws {@link AppLoadError}
 */
export function checkFunctions(
  registered: Iterable<RegisteredFunction>,
  { routePrefix, strict }: { readonly routePrefix: string; readonly strict: boolean },
  env: NodeJS.ProcessEnv = process.env,
): CheckedFunctions {
  const hosted: HostedFunction[] = [];
  const skipped: string[] = [];
  const names = new Set<string>();
  for (const one of registered) {
    const { name } = one.metadata;
    if (names.has(name.toLowerCase())) throw new AppLoadError(`Two functions have the name '${name}'.`);
    names.add(name.toLowerCase());
    if (isDisabled(name, env)) continue;
    try {
      hosted.push(toHosted(one, routePrefix));
    } catch (error) {
      if (strict || !(error instanceof UnsupportedError)) throw error;
      skipped.push(`Function '${name}' is skipped: ${error.what}`);
    }
  }
  if (names.size === 0) {
    throw new AppLoadError('The app has registered no function. Does its "main" name the file that registers them?');
  }
  return { hosted, skipped };
}

/** The first fire strictly after an instant; both in milliseconds since 1970. */
type NextFire = (after: number) => number;

/**
 * Compiles the schedule of a timer trigger as the real host reads it: NCRONTAB with 6 fields (seconds first) or 5, in
 * UTC; a time span between two fires; or a `%SETTING%` that contains one. Unlike in Vixie cron, day of month and day of
 * week must both match.
 * @throws {@link AppLoadError}
 * @see https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions
 */
export function parseSchedule(schedule: string, functionName: string): NextFire {
  const resolved = resolveSettings(schedule, `the schedule of function '${functionName}'`).trim();
  const refuse = (why: string, cause?: unknown): AppLoadError =>
    new AppLoadError(
      `Function '${functionName}': the schedule '${resolved}' is not a valid NCRONTAB expression: ${why} ` +
        'Use 6 fields: second minute hour day month day-of-week, such as "0 */5 * * * *".',
      { cause },
    );
  const period = parseTimeSpan(resolved);
  if (period !== undefined && period > 0) return (after) => after + period;
  try {
    const lists = ncrontabFields(resolved);
    const weekdays = new Set(lists[5]);
    const days = [...lists.slice(0, 5).map((values) => values.join(',')), '*'].join(' ');
    const next: NextFire = (after) => {
      const found = CronExpressionParser.parse(days, { currentDate: new Date(after), tz: 'UTC' });
      // 28 years: by then every date has fallen on every weekday.
      for (const limit = after + 28 * 366 * 86_400_000; ;) {
        const date = found.next().toDate();
        if (weekdays.has(date.getUTCDay())) return date.getTime();
        if (date.getTime() > limit) throw refuse('it never fires.');
        // The whole day is out: continue at its end, and not through every second of it.
        found.reset(new Date(date.setUTCHours(23, 59, 59, 999)));
      }
    };
    next(Date.now());
    return next;
  } catch (error) {
    if (error instanceof AppLoadError) throw error;
    throw refuse(`${error instanceof ScheduleError ? 'it ' : ''}${(error as Error).message}.`, error);
  }
}
