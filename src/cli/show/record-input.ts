import type { JobName } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { parseRunId } from '../../core/key';
import { redactSetting } from '../../functions/redact';
import type { LeaseStore } from '../../lease/store';
import type { ShownRecord } from '../../operator/views/list-runs';
import { type ShownInput, inputOfRun } from '../../operator/views/run-input';

/** The input of a recorded run. Undefined: nothing ran, or it had none. */
export async function recordInput(
  store: LeaseStore,
  record: ShownRecord | null,
  spec: JobSpec | undefined,
): Promise<ShownInput | undefined> {
  const parts = record === null || record.trigger === null ? undefined : parseRunId(record.runId);
  if (parts === undefined) return undefined;
  return inputOfRun(store, { job: parts.job as JobName, key: parts.key, spec, redact: redactSetting(process.env) });
}

/** On one line, with the input of the jobs file if that differs. */
export function inputText({ value, from, inFile }: ShownInput): string {
  const source = from === 'request' ? 'given with the request' : 'of the jobs file as it is now';
  const other = inFile === undefined ? '' : `; the jobs file has ${JSON.stringify(inFile)}`;
  return `${JSON.stringify(value)} (${source}${other})`;
}
