import { isDeepStrictEqual } from 'node:util';
import type { JobName } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { parseRecordKey } from '../../core/key';
import { ForeignRecordError } from '../../core/record';
import { type Redact, redactJson } from '../../core/redact';
import type { LeaseStore } from '../../lease/store';

export interface ShownInput {
  readonly value: unknown;
  /** `manualRun`: the run has its own input. `jobsFile`: it has that of its job, as the file at hand has it now. */
  readonly from: 'manualRun' | 'jobsFile';
  /** The input of the jobs file, if the run's own differs. */
  readonly inFile?: unknown;
  /** Whether a secret in it was hidden, so that it must not be given to another run. */
  readonly isRedacted: boolean;
}

interface Wanted {
  readonly job: JobName;
  readonly key: string;
  /** Of the file at hand. Undefined: it does not have the job. */
  readonly spec: Pick<JobSpec, 'input'> | undefined;
  readonly redact: Redact | undefined;
}

/** The input of a run. Only that of a manual run takes a call. Undefined: none, or it can no longer be read. */
export async function inputOfRun(
  store: LeaseStore,
  { job, key, spec, redact }: Wanted,
): Promise<ShownInput | undefined> {
  const id = parseRecordKey(key)?.request;
  const own = id === undefined ? undefined : await ownInput(store, job, id);
  const inFile = spec?.input;
  const hide = (value: unknown): unknown => (redact === undefined ? value : redactJson(value, redact));
  const show = (value: unknown): Pick<ShownInput, 'value' | 'isRedacted'> => {
    const shown = hide(value);
    return { value: shown, isRedacted: !isDeepStrictEqual(shown, value) };
  };
  if (own === undefined) return inFile === undefined ? undefined : { ...show(inFile), from: 'jobsFile' };
  const differs = inFile !== undefined && !isDeepStrictEqual(own, inFile);
  return { ...show(own), from: 'manualRun', ...(differs ? { inFile: hide(inFile) } : {}) };
}

async function ownInput(store: LeaseStore, job: JobName, id: string): Promise<unknown> {
  try {
    const body = await (store.home?.(job) ?? store).readRequest(id);
    return body === undefined ? undefined : (JSON.parse(body) as unknown);
  } catch (error) {
    // Something other than cronlease wrote it: the run's own error says so.
    if (error instanceof SyntaxError || error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
