import type { Machine } from './machine';
import type { IdleResult } from './measure/idle';
import type { KillResult } from './measure/kill';
import type { Result } from './measure/result';

/** All that is kept of one sitting. */
export interface Sitting {
  readonly machine: Machine;
  /** Systems whose server is not installed. */
  readonly leftOut: readonly { readonly system: string; readonly reason: string }[];
  readonly results: readonly Result[];
  readonly kills: readonly KillResult[];
  readonly idles: readonly IdleResult[];
  /** What could not be measured. */
  readonly failures: readonly { readonly run: string; readonly reason: string }[];
}
