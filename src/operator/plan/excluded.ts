import type { EpochMs } from '../../core/brand';
import type { ExcludedBy, JobSpec } from '../../core/job';
import { type Start, startsIn } from './starts';

/** A time of a schedule that is not due. */
export interface ExcludedStart extends Start {
  readonly by: ExcludedBy;
}

/** The excluded times of enabled jobs in [from, to): the first ones, and how many there are, to a limit of work. */
export function excludedIn(
  specs: readonly JobSpec[],
  { from, to, limit, mostCounted = 1_000_000 }: ExcludedSpan,
): { readonly starts: readonly ExcludedStart[]; readonly counted: number; readonly countedTo: EpochMs } {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const scheduled = specs.flatMap((spec) =>
    spec.excluded === undefined ? [] : [{ ...spec, timetable: spec.excluded.scheduled }],
  );
  const starts: ExcludedStart[] = [];
  let [counted, seen] = [0, 0];
  for (const start of startsIn(scheduled, from, to)) {
    seen += 1;
    if (seen > mostCounted) return { starts, counted, countedTo: start.runsAt };
    const spec = byName.get(start.spec.name);
    const by = spec?.excluded?.by(start.scheduledFor);
    if (spec === undefined || by === undefined) continue;
    counted += 1;
    if (starts.length < limit) starts.push({ ...start, spec, by });
  }
  return { starts, counted, countedTo: to };
}

export interface ExcludedSpan {
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Times to list. */
  readonly limit: number;
  /** Times to look at, at most. */
  readonly mostCounted?: number;
}
