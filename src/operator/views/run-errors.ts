import { ForeignRecordError } from '../../core/record';
import { firstLine } from '../../core/recorded-error';
import { readRecord } from '../../coordinator/ledger';
import type { LeaseStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import type { ShownRecord } from './list-runs';
import { FAILED_OUTCOMES, type ListedRun } from './run-pages';

/** Of a page, the newest failures have their errors read. */
const READ_AT_MOST = 100;
/** A record that is final never changes, so whoever looks again costs no read. */
const KEPT = 2_000;

/** Errors that were read, by run: one for each process that lists runs. */
export type KeptErrors = Map<string, string | undefined>;

/**
 * The error of the last attempt on one line, with the cause that lies deepest. Undefined: it has none.
 *
 * @param most characters
 */
export function errorLine(
  { outcome, attempts }: { readonly outcome: string | null; readonly attempts: ShownRecord['attempts'] },
  most?: number,
): string | undefined {
  const error = attempts.at(-1)?.error ?? undefined;
  return error === undefined || outcome === 'succeeded' ? undefined : firstLine(error, most);
}

/** The first lines of the errors of the failed runs of a page, by run. */
export async function errorLines(
  store: LeaseStore,
  runs: readonly ListedRun[],
  kept: KeptErrors,
): Promise<ReadonlyMap<string, string | undefined>> {
  const failed = runs.filter(({ outcome }) => FAILED_OUTCOMES.some((one) => one === outcome)).slice(0, READ_AT_MOST);
  const read = await inParallel(failed, async ({ job, key, runId }) => {
    if (!kept.has(runId)) kept.set(runId, await readError(store, { job, key }));
    return [runId, kept.get(runId)] as const;
  });
  for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - KEPT))) kept.delete(oldest);
  return new Map(read);
}

async function readError(store: LeaseStore, { job, key }: Pick<ListedRun, 'job' | 'key'>): Promise<string | undefined> {
  try {
    const found = await readRecord(store, job, key);
    return found === undefined ? undefined : errorLine(found.record);
  } catch (error) {
    // Its own page says what is wrong with it.
    if (error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
