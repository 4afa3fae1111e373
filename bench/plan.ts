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

/** The loads that are run with skewed clocks, too: duplicates and misses show there if they show at all. */
const SKEWED = new Set(['20/s', '100/s', '1000/min']);

/**
 * All runs in their order. Systems alternate under one load, and each repetition begins with another one, so that what
 * else the machine does falls on all of them. Skewed runs come last, once, and without the systems that are slowed down.
 */
export function planRuns({ systems, loads, repetitions, skewMs }: Options): Planned[] {
  const straight = Array.from({ length: repetitions }, (_, index) => index).flatMap((index) =>
    loads.flatMap((load) =>
      ableTo(load, rotated(systems, index)).map((system) => ({ system, load, repetition: index + 1, skewMs: 0 })),
    ),
  );
  if (skewMs === 0) return straight;
  const asTheyAre = systems.filter(({ handOverDelayMs = 0 }) => handOverDelayMs === 0);
  const skewed = loads
    .filter((load) => SKEWED.has(loadName(load)))
    .flatMap((load) => ableTo(load, asTheyAre).map((system) => ({ system, load, repetition: 1, skewMs })));
  return [...straight, ...skewed];
}

function ableTo(load: Load, systems: readonly System[]): readonly System[] {
  return systems.filter(({ minutesOnly = false }) => load.kind === 'burst' || !minutesOnly);
}

function rotated<T>(items: readonly T[], by: number): T[] {
  const at = by % Math.max(1, items.length);
  return [...items.slice(at), ...items.slice(0, at)];
}

export function plannedName({ system, load, repetition, skewMs }: Planned): string {
  const skew = skewMs === 0 ? '' : `, clocks ${String(skewMs)} ms apart`;
  return `${system.name} ${loadName(load)}${skew} (${String(repetition)})`;
}
