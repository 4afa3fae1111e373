import type { Fence } from '../lease/fence';

/**
 * Why a term ended. `completed`: its task returned; `failed`: it threw; `leaseLost`: the lease could not be renewed in
 * time, or another instance has it; `stalled`: no progress for `stallAfter`; `unhealthy`: the health check failed;
 * `resigned`: `resign()` was called; `draining`: `stop()` was called.
 */
export type TermEnd = 'completed' | 'failed' | 'leaseLost' | 'stalled' | 'unhealthy' | 'resigned' | 'draining';

/** The reason of a task's aborted signal. */
export class LeadershipEndedError extends Error {
  override readonly name = 'LeadershipEndedError';

  constructor(
    readonly code: Exclude<TermEnd, 'completed' | 'failed'>,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}

/**
 * The task did not end within its grace. Its fence is closed and its lease released, so that others can lead. This
 * instance cannot lead until the task has ended.
 */
export class TaskNotEndedError extends Error {
  readonly code = 'TaskNotEnded';
  override readonly name = 'TaskNotEndedError';
}

/** The leader named by the row. */
export interface Leader {
  readonly id: string;
  /** The fencing token of the term. It grows by one with every term, and never falls. */
  readonly token: number;
  /** When its term began, by the storage service's clock. */
  readonly since: Date;
}

/** The context of a task in its term. */
export interface Leadership extends Leader {
  /** The election's name. */
  readonly name: string;
  /** Aborted when the term must end; its `reason` is a {@link LeadershipEndedError}. */
  readonly signal: AbortSignal;
  /** Rejects writes of a leader that no longer leads. */
  readonly fence: Fence;
  /** Reports progress. With `stallAfter`, a term without a report for that long ends. */
  progress(note?: string): void;
}
