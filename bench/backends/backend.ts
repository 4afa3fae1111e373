import type { Guard } from '../../src/local/cluster/child';

export type BackendName = 'none' | 'azurite' | 'redis' | 'etcd' | 'postgres' | 'zookeeper' | 'consul';

export interface BackendOptions {
  /** Absolute; it exists, and is removed with everything in it after the run. */
  readonly folder: string;
  readonly guard: Guard;
}

/** The server behind a system, on loopback, with its data in its own folder. */
export interface Backend {
  /** How workers reach it. */
  readonly address: string;
  /** Its first process; none of no server. */
  readonly pids: readonly number[];
  /** What it has been asked so far, by kind; undefined: it does not count. */
  calls(): Promise<Readonly<Record<string, number>> | undefined>;
  stop(): Promise<void>;
}

export const NO_BACKEND: Backend = {
  address: '',
  pids: [],
  calls: () => Promise.resolve(undefined),
  stop: () => Promise.resolve(),
};
