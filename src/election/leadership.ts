import type { Fence } from '../lease/fence';

/**
 * Why a term ended. `completed`: its task returned; `failed`: it threw; `leaseLost`: the lease could not be renewed in
 * time, or somebody else has it; `stalled`: no progress for `stallAfter`; `unhealthy`: the health check failed;
 * `resigned`, `draining`: by `resign()`, by `stop()`.
 */
export type TermEnd = 'completed' | 'failed' | 'leaseLost' | 'stalled' | 'unhealthy' | 'resigned' | 'draining';

/** The reason of a task's aborted signal. */
export class LeadershipEndedError extends Error {
  override readonly name = 'LeadershipEndedError';

  constructor(
    readonly code: Exclude<TermEnd, 'completed' | 'failed'>,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The task did not end within its grace. Its fence is shut and its lease let go, so that others can lead; this instance
 * does not, until the task has ended.
 */
export class TaskNotEndedError extends Error {
  readonly code = 'TaskNotEnded';
  override readonly name = 'TaskNotEndedError';
}

/** Who leads, as the row says. */
export interface Leader {
  readonly id: string;
  /** Fencing token of its term: grows by one with every term, for ever. */
  readonly token: number;
  /** When its term began, by the storage service's clock. */
  readonly since: Date;
}

/** What a task gets to know and to use in its term. */
export interface Leadership extends Leader {
  /** Of the election. */
  readonly name: string;
  /** Aborted when the term is to end; its `reason` is a {@link LeadershipEndedError}. */
  readonly signal: AbortSignal;
  /** Refuses writes of a leader that leads no more. */
  readonly fence: Fence;
  /** Says that the task is getting on: with `stallAfter`, silence for that long ends the term. */
  progress(note?: string): void;
}
