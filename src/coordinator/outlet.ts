import type { ETag, JobName } from '../core/brand';
import type { Delivery } from '../core/delivery';
import type { Observer } from '../core/event';
import type { LogLevel } from '../core/log-entry';
import type { Notice } from '../core/notice';
import type { Invocation } from './telemetry';

/** A notice that this process may send: it has created it, or taken it over. */
export interface OwnNotice {
  readonly notice: Notice;
  readonly delivery: Delivery;
  readonly etag: ETag;
  /** Whether a later notice tells that its trouble is over. Left out: none does. */
  readonly isOver?: boolean;
}

/** The sender of notices and pings: one for each process. Its calls never reject, and no caller waits for an answer. */
export interface Outlet {
  /** A name of this process, which marks the notices that it sends. */
  readonly instance: string;
  /** The receivers whose addresses this process has. */
  readonly receivers: ReadonlySet<string>;
  /** Sends a notice that this process has created or taken over, at once. Resolves after the first try, or sooner. */
  send(own: OwnNotice, report: Report): Promise<void>;
  /** Calls the address of this name: a run starts, or has ended. Resolves once it has answered, or cannot be reached. */
  ping(name: string, kind: PingKind, report: Report): Promise<void>;
  /** The receivers that are switched off, as a listing shows them. */
  sawOff(ids: readonly string[]): void;
}

export type PingKind = 'start' | 'success' | 'fail';

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
