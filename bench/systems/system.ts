import type { Backend, BackendName } from '../backends/backend';
import type { HubWork } from '../../src/core/batch';
import type { Guard } from '../../src/local/cluster/child';
import type { BenchJob } from '../load';

export const WORKERS = 3;

export interface SystemOptions {
  /** Absolute, empty, and removed after the run. */
  readonly folder: string;
  readonly backend: Backend;
  readonly jobs: readonly BenchJob[];
  /** The file of the starts. */
  readonly records: string;
  /** How far the clock of each worker is ahead, in ms. */
  readonly clockShiftsMs: readonly number[];
  readonly guard: Guard;
  /** Called with each line that a worker prints as an error or a warning. */
  readonly onTrouble: (line: string) => void;
  /** Folder for a CPU profile of the first worker; undefined: none is made. */
  readonly profileInto?: string | undefined;
}

/** The workers of a system. */
export interface Running {
  /** Those that have not ended. */
  readonly pids: () => readonly number[];
  /** Resolves once all jobs are known to the system. */
  settled(): Promise<void>;
  /** Whether the system's own records explain a due time without a start. */
  recorded?(): Promise<(job: string, due: number) => boolean>;
  /** What the workers' task hubs have done so far. */
  hubWork?(): HubWork;
  kill(pid: number): void;
  stop(): Promise<void>;
}

/** A way to run jobs on several workers. */
export interface System {
  /** As in `--systems`. */
  readonly name: string;
  readonly title: string;
  readonly backend: BackendName;
  /** Whether its schedules have only whole minutes. */
  readonly minutesOnly?: boolean;
  /** Whether it is cronlease. */
  readonly own?: boolean;
  /** By how much it is slowed down on purpose, in ms. */
  readonly handOverDelayMs?: number;
  start(options: SystemOptions): Promise<Running>;
}
