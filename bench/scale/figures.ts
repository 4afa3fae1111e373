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
  /**
   * How long after the start the latest cursor of a new row is: due times from then on are owed for every job, however
   * late its row was created. Measured on the emulator.
   */
  readonly owedFromMs?: number;
}

/** The tables of the page, which can be measured one by one. */
export const TABLES = ['memory', 'emulator', 'listings'] as const;

export type Table = (typeof TABLES)[number];

export interface ListingCost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly calls: number;
}

/** Listings of so many jobs on a service that answers each page after 100 ms. */
export interface ListingResult {
  readonly jobs: number;
  /** The first listing of a process, page after page. */
  readonly first: ListingCost;
  /** Each later one. */
  readonly later: ListingCost;
}

export function totalCalls({ calls }: Cost): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0);
}
