import type { EpochMs } from '../../core/brand';
import { type Control, currentPause } from '../../core/control';
import { formatDuration } from '../../core/duration';
import type { JobSpec } from '../../core/job';
import { countsFrom, overdueBy } from '../../core/overdue';
import type { Row } from '../../core/row';
import { lastSuccess } from '../../coordinator/ledger';
import type { LedgerStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { type Finding, okAbout, warning } from './finding';

/** How many pages the search for a success covers: 2,000 records. */
const PAGES = 4;

/** A job whose row can be read. */
export interface AlertedJob {
  readonly spec: JobSpec | undefined;
  readonly row: Row;
  readonly control: Control;
}

/** The jobs with `alertAfter`, each with its last success. */
export async function checkAlerts(
  store: LedgerStore,
  jobs: readonly AlertedJob[],
  now: EpochMs,
): Promise<readonly Finding[]> {
  const alerted = jobs.flatMap((job) => (job.spec?.alertAfterMs === undefined ? [] : [{ ...job, spec: job.spec }]));
  return inParallel(alerted, (job) => checkAlert(store, job, now));
}

async function checkAlert(
  store: LedgerStore,
  { spec, row, control }: AlertedJob & { readonly spec: JobSpec },
  now: EpochMs,
): Promise<Finding> {
  const { name, alertAfterMs = 0 } = spec;
  const found = await lastSuccess(store, name, { pages: PAGES });
  const last =
    found.succeeded === undefined
      ? 'no success is in its newest records'
      : `last succeeded ${span(now - found.succeeded)} ago, at ${new Date(found.succeeded).toISOString()}`;
  const limit = `"alertAfter" is ${formatDuration(alertAfterMs)}`;
  const age = overdueBy(spec, control, countsFrom(row, found), now);
  if (age !== undefined) {
    const remedy = `see the outcomes of its due times with "cronlease runs ${name}", and their reasons with "cronlease why ${name} TIME"`;
    return warning('overdue', name, `${last}: overdue for ${span(age - alertAfterMs)}, ${limit}`, remedy);
  }
  const state = !spec.enabled
    ? ', and it is disabled'
    : currentPause(control, now) === undefined
      ? ''
      : ', and it is paused';
  return okAbout('overdue', name, `${last}; ${limit}${state}`);
}

function span(ms: number): string {
  return formatDuration(Math.max(0, Math.floor(ms / 1000) * 1000));
}
