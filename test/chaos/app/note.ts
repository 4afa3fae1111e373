/** What handlers did: one JSON object a line, in a file that all instances append to. */
export interface Note {
  readonly what:
    /** The handler was called. */
    | 'started'
    /** A target got the request of a call. */
    | 'called'
    /** The handler is about to return or to throw. */
    | 'ended'
    /** Its signal was aborted. */
    | 'aborted'
    /** The event loop is free again. */
    | 'unblocked'
    /** A fenced write went in. */
    | 'wrote'
    /** A fenced write was refused as a stale leader's. */
    | 'refused';
  readonly job: string;
  readonly scheduledFor: number;
  readonly attempt: number;
  readonly trigger: string;
  /** The run is of a back-fill. */
  readonly isBackfill?: boolean;
  readonly token: number;
  readonly deployment: string;
  readonly pid: number;
  /** By the machine's wall clock, not by the instance's shifted one. */
  readonly at: number;
  /** With `aborted`: the code of the reason. */
  readonly code?: string;
  /** With `ended`: when the handler last saw its fence say that it leads. */
  readonly trustedAt?: number;
  /** With `wrote`: when the write was begun. */
  readonly begunAt?: number;
}
