import type { Millis } from '../core/brand';
import type { OrchestrationEnd } from '../core/orchestration';
import type { Clock } from '../core/clock';
import type { Progress } from '../core/log-entry';
import { within } from '../lease/deadline';
import type { OrchestrationInput } from './message';

/** A host that does not answer must not block its caller forever. */
const HUB_ANSWERS_WITHIN_MS: Millis = 10_000;

export interface Hub {
  /** Undefined where it is not known. */
  readonly name?: string;
  /** Starts the orchestration, unless one with this id has been started already. */
  start(orchestration: string, input: OrchestrationInput): Promise<void>;
  status(orchestration: string): Promise<'pending' | 'completed' | 'failed' | 'unknown'>;
  /**
   * Deletes the histories of cronlease's finished orchestrations that were created in this span.
   *
   * @returns how many orchestrations of that span the hub had, those of the app among them
   */
  purge(span: { readonly from: Date; readonly to: Date }): Promise<number>;
  /** The orchestrations of the app itself; undefined: this hub runs none. */
  readonly orchestrations?: AppOrchestrations;
}

/** An orchestration of the app that has not ended. */
export interface RunningOrchestration {
  readonly id: string;
  /** Its custom status; undefined: it has none. */
  readonly progress?: Progress | undefined;
}

/** The part of a task hub that jobs need which are orchestrations of the app. */
export interface AppOrchestrations {
  knows(orchestrator: string): Promise<boolean>;
  /** All that have not ended, in one listing. */
  running(): Promise<readonly RunningOrchestration[]>;
  /** How it has ended; undefined: the hub has none of this id. */
  end(id: string): Promise<OrchestrationEnd | 'running' | undefined>;
  /** Without effect on one that has ended. */
  raise(id: string, event: string, data: unknown): Promise<void>;
  /** Without effect on one that has ended. */
  terminate(id: string, reason: string): Promise<void>;
}

/**
 * Makes one call to the hub with a time limit. Rejects with `StoreUnavailableError`: the call may or may not have taken
 * effect.
 */
export function withinHub<T>(clock: Clock, call: () => Promise<T>): Promise<T> {
  return within(clock, HUB_ANSWERS_WITHIN_MS, call, { whose: 'the task hub' });
}
