import type { JobName } from '../../core/brand';
import { isoOf } from '../../core/iso';
import type { JobSpec } from '../../core/job';
import { type Acting, type Recorded, operate } from '../audit';
import { type StartedBackfill, startBackfill, stopBackfill } from '../backfill';
import type { WantedBackfill } from '../backfill-plan';
import { shortId } from './request';
import type { Subject } from '../subject';

type Started = Omit<StartedBackfill, 'from' | 'through'> & { readonly from: string; readonly through: string };
type OfJob<Answer> = Recorded<Answer & { readonly job: JobName }>;

/** Runs past due times again: see `startBackfill`. */
export function backfill(acting: Acting, spec: JobSpec, wanted: WantedBackfill): Promise<OfJob<Started>> {
  const { store, origin } = acting;
  return operate(acting, 'backfill', spec.name, async () => {
    const started = await startBackfill(store, spec, { ...wanted, id: shortId(), origin }, acting);
    const after = { ...started, from: isoOf(started.from), through: isoOf(started.through) };
    return { answer: { job: spec.name, ...after }, after };
  });
}

/** Stops the back-fill of a job: see `stopBackfill`. */
export function endBackfill(
  acting: Acting,
  { name, spec }: Subject,
): Promise<OfJob<{ readonly id: string; readonly stopped: string }>> {
  return operate(acting, 'backfill', name, async () => {
    const { id, stopped } = await stopBackfill(acting.store, { name, spec }, acting);
    const after = { id, stopped: isoOf(stopped) };
    return { answer: { job: name, ...after }, before: { id }, after };
  });
}
