/**
 * The interface between a Functions host and the `@azure/functions` package: the parts of the virtual module
 * `@azure/functions-core` that a cronlease app uses.
 */
import { given } from '../../core/given';
import Module from 'node:module';

export type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';

export interface TypedData {
  readonly string?: string | null;
  readonly json?: string | null;
  readonly bytes?: Uint8Array | null;
  readonly int?: number | null;
  readonly double?: number | null;
  readonly http?: HttpData | null;
}

type Nullable<T> = { readonly value?: T | null } | null;

export interface HttpCookie {
  readonly name?: string | null;
  readonly value?: string | null;
  readonly domain?: Nullable<string>;
  readonly path?: Nullable<string>;
  readonly expires?: Nullable<{ readonly seconds?: number | null }>;
  readonly secure?: Nullable<boolean>;
  readonly httpOnly?: Nullable<boolean>;
  readonly sameSite?: 'none' | 'lax' | 'strict' | 'explicitNone' | null;
  readonly maxAge?: Nullable<number>;
}

export interface HttpData {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: TypedData | null;
  readonly statusCode?: string | null;
  readonly cookies?: readonly HttpCookie[] | null;
}

/** One binding of a function: its type, its direction, and the options given at registration. */
export interface Binding {
  readonly type?: string | null;
  readonly direction?: 'in' | 'out' | 'inout' | null;
  readonly [option: string]: unknown;
}

export interface FunctionMetadata {
  readonly name: string;
  readonly functionId?: string;
  readonly bindings: Readonly<Record<string, Binding>>;
  readonly retryOptions?: unknown;
}

export type FunctionCallback = (...args: unknown[]) => unknown;

interface InvocationRequest {
  readonly invocationId: string;
  readonly functionId: string;
  readonly inputData: readonly { readonly name: string; readonly data: TypedData }[];
  readonly triggerMetadata: Readonly<Record<string, TypedData>>;
}

export interface InvocationResponse {
  readonly returnValue?: TypedData | null;
}

export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly request: InvocationRequest;
  readonly metadata: FunctionMetadata;
  /** The model checks this: logging is allowed up to the hooks after an invocation, and not later. */
  state: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined;
  log(level: LogLevel, category: string, message: string): void;
}

interface InvocationModel {
  getArguments(): Promise<{ readonly context: unknown; readonly inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities?(capabilities: Record<string, string>): Record<string, string> | Promise<Record<string, string>>;
}

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly functionName?: string;
}

export type HookName = 'appStart' | 'appTerminate' | 'preInvocation' | 'postInvocation' | 'log';
type HookCallback = (context: object) => unknown;

export interface RegisteredFunction {
  readonly metadata: FunctionMetadata;
  readonly callback: FunctionCallback;
}

/** Marks an error as the real worker marks its own; `@azure/functions` checks the mark. */
function systemError<E extends Error>(error: E): E {
  return Object.assign(error, { isAzureFunctionsSystemError: true });
}

class Disposable {
  static from(...all: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
  constructor(private callOnDispose: (() => unknown) | undefined) {}
  dispose(): unknown {
    const call = this.callOnDispose;
    this.callOnDispose = undefined;
    return call?.();
  }
}

/** The functions and hooks that an app has registered during its load, and the hooks' shared data. */
export type AppRegistry = ReturnType<typeof createRegistry>;

export function createRegistry() {
  const hooks: Record<HookName, HookCallback[]> = {
    appStart: [],
    appTerminate: [],
    preInvocation: [],
    postInvocation: [],
    log: [],
  };
  return {
    functions: new Map<string, RegisteredFunction>(),
    hooks,
    /** Shared by all hooks. */
    appHookData: {},
    /** Shared by `appStart` and `appTerminate` hooks only. */
    appLevelHookData: {},
    programmingModel: undefined as ProgrammingModel | undefined,
    /** Set after the load: no function may be registered later. */
    locked: false,
  };
}

/** Runs hooks in the order of their registration, until one throws. */
export async function runHooks(registry: AppRegistry, name: HookName, context: object): Promise<void> {
  for (const hook of registry.hooks[name]) await hook(context);
}

/** Writes a line of an app's code. `log` hooks may change its level and message. */
export function logAsApp(
  registry: AppRegistry,
  sink: (line: LogLine) => void,
  line: { level: LogLevel; message: string; category: string },
  functionName?: string,
): void {
  if (line.category === 'user') for (const hook of registry.hooks.log) hook(line);
  // The real host shows these levels by default.
  if (line.level === 'trace' || line.level === 'debug' || line.level === 'none') return;
  sink({ level: line.level, message: line.message, ...given({ functionName }) });
}

/** The module `@azure/functions-core`, which exists only in a Functions worker. */
function createCoreApi(registry: AppRegistry, sink: (line: LogLine) => void): object {
  return {
    version: '3.12.0',
    hostVersion: '4.1041.0',
    Disposable,
    registerFunction(metadata: FunctionMetadata, callback: FunctionCallback): Disposable {
      if (registry.locked) throw systemError(new Error('A function can only be registered during app startup.'));
      const id = metadata.functionId ?? metadata.name;
      if (registry.functions.has(id)) {
        throw systemError(new Error(`A function with id "${id}" has already been registered.`));
      }
      registry.functions.set(id, { metadata, callback });
      return new Disposable(() => registry.functions.delete(id));
    },
    registerHook(name: string, callback: HookCallback): Disposable {
      if (!Object.hasOwn(registry.hooks, name)) throw systemError(new RangeError(`Unrecognized hook "${name}"`));
      const list = registry.hooks[name as HookName];
      list.push(callback);
      return new Disposable(() => {
        const index = list.indexOf(callback);
        if (index >= 0) list.splice(index, 1);
      });
    },
    setProgrammingModel(model: ProgrammingModel): void {
      registry.programmingModel = model;
    },
    getProgrammingModel: () => registry.programmingModel,
    log(level: LogLevel, category: string, message: string): void {
      logAsApp(registry, sink, { level, message, category });
    },
  };
}

let installed = false;

/**
 * Answers `require('@azure/functions-core')` in this process, as the real worker does. Then the real `@azure/functions`
 * package runs here, even from a bundle that left the module external. The package keeps the answer, so a process can
 * be only one host, and only once.
 */
export function installCoreApi(registry: AppRegistry, sink: (line: LogLine) => void): void {
  if (installed) throw new Error('This process is a Functions host already; start another one in its own process.');
  installed = true;
  const coreApi = createCoreApi(registry, sink);
  const require = Module.prototype.require;
  Module.prototype.require = new Proxy(require, {
    apply(target, self: unknown, args: [string]): unknown {
      return args[0] === '@azure/functions-core' ? coreApi : Reflect.apply(target, self, args);
    },
  });
}
