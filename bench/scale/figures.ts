/** What one part of a case has cost all instances together. */
export interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Storage calls by kind. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many handlers were called. */
  readonly runs: number;
}

export const PARTS = ['firstSight', 'idleMinute', 'onePercentDue', 'allDue'] as const;

export type Part = (typeof PARTS)[number];

/** One case: so many jobs and instances on one store. */
export interface ScaleResult {
  readonly store: 'memory' | 'azurite';
  readonly jobs: number;
  readonly instances: number;
  readonly costs: Partial<Readonly<Record<Part, Cost>>>;
  /** How many due times are in the part `onePercentDue`. */
  readonly onePercent: number;
  /** The heap of the process after a collection, less what it was before the instances began, by instance. */
  readonly heapMbEach: number;
}

export function totalCalls({ calls }: Cost): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0);
}
