import { given } from '../../core/given';
import Module from 'node:module';
import type { FunctionCallback, FunctionMetadata, LogLevel, ProgrammingModel } from './rpc';

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

/** The functions and hooks that an app has registered during its load, and the hooks' shared data. */
export interface AppRegistry {
  readonly functions: Map<string, RegisteredFunction>;
  readonly hooks: Record<HookName, HookCallback[]>;
  /** Shared by all hooks. */
  readonly appHookData: object;
  /** Shared by `appStart` and `appTerminate` hooks only. */
  readonly appLevelHookData: object;
  programmingModel: ProgrammingModel | undefined;
  /** Set after the load: no function may be registered later. */
  locked: boolean;
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

export function createRegistry(): AppRegistry {
  return {
    functions: new Map(),
    hooks: { appStart: [], appTerminate: [], preInvocation: [], postInvocation: [], log: [] },
    appHookData: {},
    appLevelHookData: {},
    programmingModel: undefined,
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
