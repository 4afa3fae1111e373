import type { EpochMs, JobName } from '../../core/brand';
import type { CallOptions, Metadata } from './call';
import type { StoredRecord } from './ledger';

/** The pieces of runs that fan out: plan, results of items, heartbeats. A call keeps its operation in them. */
export interface PieceStore {
  /** Creates a piece of a fan-out run (its plan, an item's result) if its name is free. */
  createPiece(
    job: JobName,
    key: string,
    name: string,
    piece: StoredRecord,
    options?: CallOptions,
  ): Promise<'created' | 'exists'>;

  readPiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<string | undefined>;

  /** Replaces the summary of a piece, which renews its time of writing. `gone`: there is no such piece. */
  touchPiece(
    job: JobName,
    key: string,
    name: string,
    summary: Metadata,
    options?: CallOptions,
  ): Promise<'touched' | 'gone'>;

  /**
   * One page of the pieces of a run, or of all runs of a job, in order of run key and name. Pages work as in
   * `listRecords`. With `prefix`, only the pieces of the run whose names begin with it.
   */
  listPieces(
    job: JobName,
    request: {
      readonly key?: string;
      readonly prefix?: string;
      readonly limit: number;
      readonly continuation?: string;
    },
    options?: CallOptions,
  ): Promise<{ readonly pieces: readonly ListedPiece[]; readonly continuation: string | undefined }>;

  /** A missing piece counts as deleted. */
  deletePiece(job: JobName, key: string, name: string, options?: CallOptions): Promise<void>;
}

export interface ListedPiece {
  /** The run's key. */
  readonly key: string;
  readonly name: string;
  readonly summary: Metadata;
  /** When it was last created or touched, by the service's clock. */
  readonly writtenAt: EpochMs;
  /** The service's Date of the answer. */
  readonly date: EpochMs;
}
