import type { EpochMs } from './brand';

/** What a poke saw and did. */
export interface Poked {
  /** When it began, by the service's time. */
  readonly at: EpochMs;
  /** How many jobs had something to do: a due time, a manual run, a run to take over or to resume. */
  readonly due: number;
  /** How many claims it has handed over. Others may have been faster. */
  readonly handedOver: number;
  /** Whether the task hub has shown that it runs orchestrations: until then, nothing is claimed. */
  readonly hubProven: boolean;
  /** Whether the deployment is cordoned, and claims nothing new. */
  readonly cordoned: boolean;
}
