import type { JobName } from '../core/brand';
import type { Observer } from '../core/event';
import type { LogLevel } from '../core/log-entry';
import type { Invocation } from './telemetry';

/** The log and the events of one invocation. */
export interface Report {
  readonly event: Observer;
  /** The call of the host, for traces. */
  readonly invocation?: Invocation | undefined;
  readonly log: (level: LogLevel, ...message: unknown[]) => void;
  /** The level of a job's line in the host's log, which may hide lower ones. Undefined: its own. */
  readonly raised?: ((level: LogLevel, job: JobName) => LogLevel) | undefined;
  /** Takes the lines of handlers. Undefined: they go to `log`, with the job before them. */
  readonly line?: ((level: LogLevel, speaker: Speaker, message: readonly unknown[]) => void) | undefined;
}

/** The call of a handler that writes a line. */
export interface Speaker {
  readonly job: JobName;
  readonly runId: string;
  readonly attempt: number;
  /** Of a fan-out. */
  readonly item?: number;
  readonly traceparent?: string | undefined;
}
