import type { CallOptions } from './call';

/** The inputs of manual runs, which are too large for a control. */
export interface RequestStore {
  /** Keeps the input of a manual run, as JSON, if the manual run has none yet. */
  createRequest(id: string, body: string, options?: CallOptions): Promise<'created' | 'exists'>;

  /** Undefined: there is none. Rejects with `ForeignRecordError` if it is larger than any that cronlease writes. */
  readRequest(id: string, options?: CallOptions): Promise<string | undefined>;
}
