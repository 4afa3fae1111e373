import type { LogLine } from '../host/core-api';
import type { HostOptions } from '../host/host';

export interface FunctionSeen {
  readonly name: string;
  /** The route of an HTTP function: `GET /api/orders/{id}`, without a method if it accepts any. */
  readonly route?: string;
}

export interface InstanceFacts {
  readonly port: number;
  readonly inspectorUrl: string | undefined;
  readonly functions: readonly FunctionSeen[];
}

export type StartOptions = Pick<
  HostOptions,
  'app' | 'main' | 'port' | 'settings' | 'defaults' | 'strict' | 'hubFolder' | 'handOverDelayMs'
>;

export type ToHost =
  /** With `sharesTimers`, other instances of the app share its timers. */
  | { readonly kind: 'start'; readonly options: StartOptions & { readonly sharesTimers?: boolean } }
  | { readonly kind: 'stop' }
  | { readonly kind: 'timerLock'; readonly id: number; readonly held: boolean };

export type FromHost =
  | (InstanceFacts & { readonly kind: 'ready' })
  | { readonly kind: 'log'; readonly lines: readonly LogLine[] }
  | { readonly kind: 'failed'; readonly message: string }
  /** Takes or renews the lock on a timer function. */
  | { readonly kind: 'takeTimerLock'; readonly id: number; readonly functionName: string; readonly periodMs: number }
  | { readonly kind: 'releaseTimerLock'; readonly functionName: string }
  /** The last message before it ends by itself. */
  | { readonly kind: 'ending' };

export type ToAzurite =
  | {
      readonly kind: 'start';
      readonly azurite: string;
      /** Folder to keep the data in; undefined: in memory. */
      readonly data: string | undefined;
    }
  | { readonly kind: 'stop' };

export type FromAzurite =
  { readonly kind: 'ready'; readonly port: number } | { readonly kind: 'failed'; readonly message: string };

/** From the cluster to its guard: the processes and the folders that must not outlive the cluster. */
export type ToGuard =
  { readonly kind: 'watch' | 'forget'; readonly pid: number } | { readonly kind: 'remove'; readonly folder: string };
