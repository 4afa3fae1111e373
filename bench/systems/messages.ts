import type { BenchJob } from '../load';

/** Which worker it is, with which jobs, on which server. */
export interface WorkerOptions {
  readonly index: number;
  readonly workers: number;
  readonly jobs: readonly BenchJob[];
  /** How the server is reached: a connection string or an address. */
  readonly address: string;
}

export type ToWorker = { readonly kind: 'start'; readonly options: WorkerOptions } | { readonly kind: 'stop' };

export type FromWorker = { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly message: string };
