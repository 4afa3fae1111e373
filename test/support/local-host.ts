import type * as Functions from '@azure/functions';
import type * as Durable from 'durable-functions';
import { createRequire } from 'node:module';
import type { Action } from '../../src/local/durable/actions';
import { type HubOptions, toJson } from '../../src/local/durable/hub-state';
import { createHub, type Hub } from '../../src/local/durable/hub';
import type { HubFiles } from '../../src/local/durable/hub-files';
import { type AppRegistry, createRegistry, installCoreApi, type LogLine } from '../../src/local/host/core-api';
import { checkFunctions } from '../../src/local/host/functions';
import { createInvoke } from '../../src/local/host/invoke';

/** For a hub that ends with its process. */
export const NO_FILES: HubFiles = {
  save: () => undefined,
  remove: () => undefined,
  load: () => [],
  saveEntity: () => undefined,
  loadEntities: () => [],
};

/** The real packages, loaded as an app loads them: after the host has answered for the Functions worker. */
export interface RealPackages {
  readonly functions: typeof Functions;
  readonly durable: typeof Durable;
  readonly registry: AppRegistry;
  /** A hub with all functions that were registered so far. */
  hub(options?: HubSettings): Hub;
  /** The state that an orchestrator function returns for one payload. */
  play(name: string, payload: string): Promise<OrchestratorState>;
  readonly errors: string[];
  readonly log: LogLine[];
}

interface HubSettings extends Partial<
  Pick<HubOptions, 'maxConcurrentActivities' | 'handOverDelayMs' | 'files' | 'visibility'>
> {
  readonly timeoutMs?: number;
}

interface OrchestratorState {
  readonly isDone: boolean;
  readonly output?: unknown;
  readonly actions: readonly (readonly Action[])[];
}

const VISIBILITY = { workItemMs: 60_000, controlMs: 60_000 };

/** May be called only once in a process. */
export function loadRealPackages(): RealPackages {
  const registry = createRegistry();
  const log: LogLine[] = [];
  const errors: string[] = [];
  installCoreApi(registry, (line) => log.push(line));
  const require = createRequire(__filename);
  return {
    registry,
    functions: require('@azure/functions') as typeof Functions,
    durable: require('durable-functions') as typeof Durable,
    errors,
    log,
    async play(name, payload) {
      const { hosted } = checkFunctions(registry.functions.values(), { routePrefix: 'api', strict: true });
      const fn = hosted.find((one) => one.name === name);
      if (fn === undefined) throw new Error(`no function ${name}`);
      const { invoke } = createInvoke({
        ...{ registry, sink: (line: LogLine) => void log.push(line), clientInput: {}, timeoutMs: undefined },
        onTimeout: (message) => errors.push(message),
      });
      const { returnValue } = await invoke(fn, { trigger: { string: payload } });
      return JSON.parse(toJson(returnValue) ?? '{}') as OrchestratorState;
    },
    hub({ maxConcurrentActivities = 10, handOverDelayMs, files = NO_FILES, visibility = VISIBILITY, timeoutMs } = {}) {
      const { hosted: functions } = checkFunctions(registry.functions.values(), { routePrefix: 'api', strict: true });
      return createHub({
        functions,
        maxConcurrentActivities,
        handOverDelayMs,
        files,
        visibility,
        ...createInvoke({
          registry,
          sink: (line) => log.push(line),
          clientInput: {},
          timeoutMs,
          onTimeout: (message) => errors.push(message),
        }),
        onError: (_, message) => errors.push(message),
      });
    },
  };
}
