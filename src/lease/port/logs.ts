import type { JobName } from '../../core/brand';
import type { CallOptions } from './call';

/**
 * The logs of runs. A log is text in ASCII that only grows, so that a character is a byte; a store rejects other text
 * with `StoreLimitError`.
 */
export interface LogStore {
  /** Creates an empty log if its name is free. */
  createLog(job: JobName, key: string, name: string, options?: CallOptions): Promise<'created' | 'exists'>;

  /**
   * Appends text to a log that is `at` bytes long, so that a repeated call appends nothing twice. `refused`: the log has
   * another length, or there is no such log.
   */
  appendLog(
    job: JobName,
    key: string,
    name: string,
    { text, at }: { readonly text: string; readonly at: number },
    options?: CallOptions,
  ): Promise<'appended' | 'refused'>;

  /** At most `limit` bytes of a log from the byte `from` on: none from its end on. Undefined: there is no such log. */
  readLog(
    job: JobName,
    key: string,
    name: string,
    { from, limit }: { readonly from: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<string | undefined>;

  /** One page of the logs of a run, in order of name. Pages work as in `listRecords`. */
  listLogs(
    job: JobName,
    key: string,
    request: { readonly limit: number; readonly continuation?: string },
    options?: CallOptions,
  ): Promise<{ readonly logs: readonly ListedLog[]; readonly continuation: string | undefined }>;
}

export interface ListedLog {
  readonly name: string;
  /** Its length in bytes. */
  readonly bytes: number;
}
