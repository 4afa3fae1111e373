import type { LogLine } from '../host/core-api';
import type { HostOptions } from '../host/host';

/** A function of the app, for people. */
export interface FunctionSeen {
  readonly name: string;
  /** The route of an HTTP function: `GET /api/orders/{id}`, without a method if it accepts any. */
  readonly route?: string;
}

/** The facts that an instance reports when it has started. */
export interface InstanceFacts {
  readonly port: number;
  /** The URL for a debugger, if one was requested. */
  readonly inspectorUrl: string | undefined;
  readonly functions: readonly FunctionSeen[];
}

/** The options of a host that its process is given. */
export type StartOptions = Pick<
  HostOptions,
  'app' | 'main' | 'port' | 'settings' | 'defaults' | 'strict' | 'hubFolder' | 'handOverDelayMs'
>;

/** From the cluster to a host process. */
export type ToHost =
  /** With `sharesTimers`, other instances of the app share its timers. */
  | { readonly kind: 'start'; readonly options: StartOptions & { readonly sharesTimers?: boolean } }
  | { readonly kind: 'stop' }
  /** The answer to a request for a timer's lock. */
  | { readonly kind: 'timerLock'; readonly id: number; readonly held: boolean };

/** From a host process to the cluster. */
export type FromHost =
  | (InstanceFacts & { readonly kind: 'ready' })
  | { readonly kind: 'log'; readonly lines: readonly LogLine[] }
  /** The process could not start: the app does not load, the port is taken, or another error occurred. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Takes or renews the lock on a timer function. */
  | { readonly kind: 'takeTimerLock'; readonly id: number; readonly functionName: string; readonly periodMs: number }
  | { readonly kind: 'releaseTimerLock'; readonly functionName: string }
  /** The last message before it ends by itself. */
  | { readonly kind: 'ending' };

/** From the cluster to the Azurite process. */
export type ToAzurite =
  | {
      readonly kind: 'start';
      /** Folder of the azurite package. */
      readonly azurite: string;
      /** Folder to keep the data in; undefined: in memory. */
      readonly data: string | undefined;
    }
  | { readonly kind: 'stop' };

/** From the Azurite process to the cluster. */
export type FromAzurite =
  { readonly kind: 'ready'; readonly port: number } | { readonly kind: 'failed'; readonly message: string };

/** From the cluster to its guard: the processes and the folders that must not outlive the cluster. */
export type ToGuard =
  { readonly kind: 'watch' | 'forget'; readonly pid: number } | { readonly kind: 'remove'; readonly folder: string };
