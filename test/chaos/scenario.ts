import type { BackfillSpan, Fault, Span } from './evidence';
import type { World } from './world';

/** What a scenario has done. */
export interface Acted {
  readonly faults: readonly Fault[];
  readonly forgotten?: Span;
  readonly backfill?: BackfillSpan;
}

/** What a row must reach besides no duplicate, no loss and no stale write. */
export interface Targets {
  /** Every job that a victim held goes on elsewhere within this, in ms. */
  readonly takeOverMs: number;
  /** Jobs that no victim held have no longer gap than this beyond their period, in ms. Undefined: no one could run. */
  readonly gapOthersMs: number | undefined;
  /** An old leader is left: its handler's signal is aborted within this, in ms, and its fenced writes refused. */
  readonly toldMs?: number;
  /** All that was due in an outage is caught up within this, in ms. */
  readonly caughtUpMs?: number;
  /** A notice is sent by another deployment than the one that began to. */
  readonly sentByTwo?: true;
  /** Each due time of the jobs in the group has begun or ended within this, in ms. */
  readonly groupWaitMs?: number;
}

export interface Scenario {
  readonly name: string;
  /** For the table. */
  readonly shows: string;
  /**
   * `quiet`: only the long job; `busy`: five more, each due every second; `all`: and one that fans out; `told`: one
   * more, which notifies; `filled`: one that is back-filled; `grouped`: several of one group; `orchestrated`: one that
   * is an orchestration; `polled`: one that is a call whose operation is polled.
   */
  readonly load?: 'quiet' | 'busy' | 'all' | 'told' | 'filled' | 'grouped' | 'orchestrated' | 'polled';
  readonly long?: { readonly ms: number; readonly laterMs: number; readonly blockMs?: number };
  /** Of all jobs; the least there is by default. */
  readonly lease?: '15s' | '30s';
  readonly clockShiftsMs?: readonly number[];
  readonly keepsFiles?: boolean;
  /** Deployments that run the other build. */
  readonly otherBuild?: readonly string[];
  readonly targets: Targets;
  act(world: World): Promise<Acted>;
}

/** A handler start may be this late on a busy machine, and after the hold-back of an incumbent that is gone. */
export const NO_GAP_MS = 1_000;
export const TICK_MS = 15_000;
/** Lease, tick, and 2 s. */
export const TAKE_OVER_MS = 15_000 + TICK_MS + 2_000;
export const TOLD_MS = 200;
/** Clocks are corrected beyond 2 s of difference from the service's, whose Date has a resolution of 1 s. */
export const EARLY_MS = 3_000;
export const USUAL: Targets = { takeOverMs: TAKE_OVER_MS, gapOthersMs: NO_GAP_MS };
