import type { EpochMs } from '../../core/brand';
import { type Acknowledgement, type Incident, type Outcomes, incidentOf, isInForce } from '../../core/incident';
import type { JobSpec } from '../../core/job';
import { overdueBy } from '../../core/overdue';
import { keyOf, withRun } from '../../core/recent';
import { settledRun } from '../../core/recent-run';
import { type Row, isAtRest } from '../../core/row';
import type { JobState } from '../job-state';
import type { Subject } from '../subject';
/** The incident of a job, and its acknowledgement that is in force. */
export interface JobIncident extends Incident {
  readonly acknowledgement: Acknowledgement | undefined;
}

/** What a job's row shows of its last outcomes, with that of a run which has settled since. */
export function outcomesOf({ name, spec }: Subject, row: Row, { lease, control }: JobState): Outcomes {
  const settled = isAtRest(row, lease)
    ? settledRun({ name, offsetMs: spec?.offsetMs ?? 0 }, row, control.cancel)
    : undefined;
  const { failures, lastFailedKey, lastGoodAt } = row;
  return { failures, lastFailedKey, lastGoodAt, recent: withRun(row.recent, settled) };
}

/** The incident of a job; undefined if it neither fails nor is overdue. */
export function jobIncident(
  outcomes: Outcomes,
  { control, now }: JobState,
  overdueSince: EpochMs | undefined,
): JobIncident | undefined {
  const incident = incidentOf(outcomes, overdueSince);
  if (incident === undefined) return undefined;
  const { acknowledgement } = control;
  const isAcknowledged = acknowledgement !== undefined && isInForce(acknowledgement, outcomes, now);
  return { ...incident, acknowledgement: isAcknowledged ? acknowledgement : undefined };
}

/**
 * When the job became overdue. A success enters the row with the next claim, so the last run counts from its start: the
 * job may be well for a few minutes longer than this shows, and never shorter.
 */
export function overdueFrom(
  spec: JobSpec,
  row: Row,
  { control, lease, now }: JobState,
  { recent }: Outcomes,
): EpochMs | undefined {
  if (spec.alertAfterMs === undefined) return undefined;
  const last = recent.findLast((item) => item.kind === 'run');
  const isOver = row.run !== undefined && last !== undefined && keyOf(last) === row.run.key && lease === 'available';
  const succeeded =
    isOver && last.outcome === 'succeeded' ? (row.started ?? 0) + (last.durationMs ?? 0) + last.waitedMs : 0;
  const from = Math.max(row.lastGoodAt, succeeded);
  const age = overdueBy(spec, control, from, now);
  return age === undefined ? undefined : now - age + spec.alertAfterMs;
}
