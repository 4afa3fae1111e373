import { type Load, loadName } from './load';
import type { Options } from './options';
import type { System } from './systems/system';

/** One run that is to be made. */
export interface Planned {
  readonly system: System;
  readonly load: Load;
  readonly repetition: number;
  readonly skewMs: number;
}

/**
 * All runs in their order. Systems alternate under one load, and each repetition begins with another one, so that what
 * else the machine does falls on all of them.
 */
export function planRuns({ systems, loads, repetitions, skewsMs }: Options): Planned[] {
  return Array.from({ length: repetitions }, (_, index) => index).flatMap((index) =>
    skewsMs.flatMap((skewMs) =>
      loads.flatMap((load) =>
        rotated(systems, index)
          .filter((system) => load.kind === 'burst' || system.minutesOnly !== true)
          .map((system) => ({ system, load, repetition: index + 1, skewMs })),
      ),
    ),
  );
}

function rotated<T>(items: readonly T[], by: number): T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

export function plannedName({ system, load, repetition, skewMs }: Planned): string {
  const skew = skewMs === 0 ? '' : `, clocks ${String(skewMs)} ms apart`;
  return `${system.name} ${loadName(load)}${skew} (${String(repetition)})`;
}
