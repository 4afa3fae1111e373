import type * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { type Pause, pendingRequests } from '../core/control';
import type { JobSpec } from '../core/job';
import { isoOf } from '../core/iso';
import { recordKey, runIdOf } from '../core/key';
import { controlVersion } from '../operator/change-control';
import { statusOf } from '../operator/job-status';
import type { JobEntry } from '../operator/list-jobs';
import type { Job, OneJob } from './schema';

export function iso(instant: EpochMs): string {
  return isoOf(instant);
}

export function isoOrNull(instant: EpochMs | undefined): string | null {
  return instant === undefined ? null : iso(instant);
}

export function showPause({ by, note, since, until }: Pause): NonNullable<z.input<typeof Job>['pause']> {
  return { by, note, since: iso(since), until: isoOrNull(until) };
}

export function showOneJob(entry: JobEntry, now: EpochMs): z.input<typeof OneJob> {
  const { name, spec, state } = entry;
  const waiting = state === undefined ? [] : pendingRequests(state.control, state.row?.manualTaken ?? 0);
  return {
    ...statusOf(entry, now),
    now: iso(now),
    enabled: spec?.enabled ?? null,
    settings: spec === undefined ? null : settingsOf(spec),
    waiting: waiting.map(({ id, time }) => ({ runId: runIdOf(name, recordKey(time, id)), requestedAt: iso(time) })),
    pauses: state?.control.pauses.map(showPause) ?? [],
    backfillId: state?.control.backfill?.id ?? null,
    cancelling: state?.control.cancel ?? null,
    controlVersion: controlVersion({ controlEtag: state?.controlEtag }),
  };
}

function settingsOf(spec: JobSpec): NonNullable<z.input<typeof OneJob>['settings']> {
  const { kind, handler, catchUp, catchUpWindowMs, overlap, priority, offsetMs, graceMs, leaseMs, keepMs, retry } =
    spec;
  return {
    ...{ kind, handler, catchUp, catchUpWindowMs, overlap, priority, offsetMs, graceMs, leaseMs, keepMs, retry },
    ...{ requires: spec.requires, requireWithinMs: spec.requires.length === 0 ? null : spec.requireWithinMs },
    timeoutMs: spec.timeoutMs ?? null,
    stallAfterMs: spec.stallAfterMs ?? null,
    alertAfterMs: spec.alertAfterMs ?? null,
    pauseAfterFailures: spec.pauseAfterFailures ?? null,
  };
}
