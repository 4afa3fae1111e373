import type * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { pendingManualRuns } from '../core/control';
import type { JobSpec } from '../core/job';
import { isoOf, isoOrNull } from '../core/iso';
import { recordKey, runIdOf } from '../core/key';
import { controlVersion } from '../operator/change-control';
import type { JobState } from '../operator/job-state';
import { statusOf } from '../operator/views/job-status';
import type { JobEntry } from '../operator/views/list-jobs';
import { progressOf, stateOf } from '../operator/operations/backfill';
import { shownPause } from '../operator/operations/pause';
import type { OneJob } from './schema';

export function showOneJob(entry: JobEntry, now: EpochMs): z.input<typeof OneJob> {
  const { name, spec, state } = entry;
  const waiting = state === undefined ? [] : pendingManualRuns(state.control, state.row?.manualTaken ?? 0);
  return {
    ...statusOf(entry, now),
    now: isoOf(now),
    enabled: spec?.enabled ?? null,
    settings: spec === undefined ? null : settingsOf(spec),
    waiting: waiting.map(({ id, time }) => ({ runId: runIdOf(name, recordKey(time, id)), requestedAt: isoOf(time) })),
    pauses: state?.control.pauses.map(shownPause) ?? [],
    backfill: spec === undefined || state === undefined ? null : backfillOf(spec, state),
    cancelling: state?.control.cancel ?? null,
    controlVersion: controlVersion({ controlEtag: state?.controlEtag }),
  };
}

/** What a page needs to know that the back-fill has gone on. */
function backfillOf(spec: JobSpec, state: JobState): z.input<typeof OneJob>['backfill'] {
  const { backfill } = state.control;
  if (backfill === undefined) return null;
  const progress = progressOf(backfill, state);
  return { id: backfill.id, state: stateOf(spec, backfill, state), last: isoOrNull(progress?.at) };
}

/** The schema of the answer leaves out what it does not name. */
function settingsOf(spec: JobSpec): NonNullable<z.input<typeof OneJob>['settings']> {
  return {
    ...spec,
    // A query may have a key.
    call: spec.call === undefined ? null : `${spec.call.method} ${spec.call.url.replace(/[?#].*$/s, '')}`,
    requireWithinMs: spec.requires.length === 0 ? null : spec.requireWithinMs,
    timeoutMs: spec.timeoutMs ?? null,
    stallAfterMs: spec.stallAfterMs ?? null,
    alertAfterMs: spec.alertAfterMs ?? null,
    pauseAfterFailures: spec.pauseAfterFailures ?? null,
  };
}
