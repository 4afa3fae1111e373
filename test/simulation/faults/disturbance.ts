import type { BackfillOrder } from '../../../src/core/backfill';
import type { Gone } from '../world/account';
import type { RowSpoil } from '../world/foreign';
import type { Random } from './random';
import type { Theme } from './themes';

/** A disturbance of the world at one instant. Each is independent: leaving one out changes no other. */
export type Disturbance = { readonly at: number } & (
  | { readonly kind: 'kill'; readonly instance: number; readonly back: number }
  /** @param silentMs its host is in drain mode for this long before it stops */
  | { readonly kind: 'drain'; readonly instance: number; readonly back: number; readonly silentMs?: number }
  | { readonly kind: 'pause'; readonly instance: number; readonly lasts: number; readonly asleep: boolean }
  | { readonly kind: 'setClock'; readonly instance: number; readonly skewMs: number }
  /** All wall clocks are set once a handler is held back or at work, and corrected after a while. */
  | {
      readonly kind: 'setClocks';
      readonly skewMs: number;
      readonly once: 'heldBack' | 'atWork';
      readonly rightAfterMs?: number;
    }
  | { readonly kind: 'denied'; readonly instance: number; readonly lasts: number }
  | { readonly kind: 'hubDead'; readonly deployment: number; readonly lasts: number }
  | { readonly kind: 'hubRefuses'; readonly deployment: number; readonly lasts: number }
  | { readonly kind: 'hubWiped'; readonly deployment: number }
  | { readonly kind: 'appGone'; readonly deployment: number; readonly lasts: number }
  | { readonly kind: 'deploy'; readonly deployment: number }
  | { readonly kind: 'outage'; readonly lasts: number; readonly how: OutageKind }
  | { readonly kind: 'pauseJob'; readonly job: number; readonly lasts: number }
  | { readonly kind: 'request'; readonly job: number }
  | { readonly kind: 'cancel'; readonly job: number }
  | { readonly kind: 'breakLease'; readonly job: number; readonly period: number }
  /** An operator starts a back-fill, from this long after the beginning of the history on. */
  | {
      readonly kind: 'backfill';
      readonly job: number;
      readonly from: number;
      readonly order: BackfillOrder;
      readonly limit: number;
      readonly includeSucceeded: boolean;
    }
  | { readonly kind: 'stopBackfill'; readonly job: number }
  /** An operator looks at a job's lease and breaks it. */
  | { readonly kind: 'unlock'; readonly job: number }
  /** An operator forgets a job that the file has: for its deployments it is a new one. */
  | { readonly kind: 'forget'; readonly job: number }
  /** Another program writes over a job's control, and an operator repairs it. */
  | { readonly kind: 'spoil'; readonly job: number; readonly lasts: number }
  /** The same of its row, while it is not held. */
  | { readonly kind: 'spoilRow'; readonly job: number; readonly lasts: number; readonly how: RowSpoil }
  /** Someone deletes a row that is settled, and leaves its records. */
  | { readonly kind: 'deleteRow'; readonly job: number }
  /**
   * What is written in the next `lostMs` is lost in a failover of the storage account, all of it or some. People stop
   * every deployment, `recover`, and start again.
   */
  | ({ readonly kind: 'failover' } & PlannedFailover)
  /** People move all jobs to another store, and restart the deployments with the new connection. */
  | ({ readonly kind: 'migrate' } & PlannedMigration)
  /** Time passes, to right before the next due time of a job if one is named; a share of the instances restarts. */
  | { readonly kind: 'leap'; readonly days: number; readonly job: number | undefined; readonly restarts: number }
);

export interface PlannedFailover {
  readonly lostMs: number;
  /** How calls to the lost account fail. */
  readonly how: Gone;
  /** From the loss to the stop of all deployments. */
  readonly stopsAfterMs: number;
  /** The hosts are shut down, not killed. */
  readonly drains: boolean;
  readonly leases: 'kept' | 'gone';
  /** Each blob returns to its own instant within `lostMs`. Otherwise all of them return to its beginning. */
  readonly apart: boolean;
  /** The task hubs are lost, too. */
  readonly wipesHubs: boolean;
  /** From the loss to the time that `--until` names. Undefined: the option is left out. */
  readonly untilMs: number | undefined;
  readonly runs: 'resume' | 'rerun' | 'fail';
  /** A first call of `recover` may fail, and its process may die. */
  readonly triesBefore: boolean;
}

export interface PlannedMigration {
  /** For each of the first commands, the number of calls after which its process dies. Later ones have no faults. */
  readonly diesAfter: readonly number[];
  /** From the end of a command to the next one, if jobs are left. */
  readonly againAfterMs: number;
  /** From this command on, runs that are not over are recorded as cancelled. */
  readonly endsRunsFrom: number;
  /** While jobs move, all processes die as soon as one of them owes notices of a run. */
  readonly diesOwing: boolean;
  /** For each deployment, the time from the announcement to its restart on the next store. */
  readonly restartsAfter: readonly number[];
}

/** `fades`: storage gets slow, and then hangs. */
export type OutageKind = 'refuses' | 'throttles' | 'hangs' | 'fades';

export type DisturbanceKind = Disturbance['kind'];

/** The disturbances of plain histories. A mix adds others itself. */
export type DrawnKind = Exclude<
  DisturbanceKind,
  | 'leap'
  | 'failover'
  | 'migrate'
  | 'hubRefuses'
  | 'setClocks'
  | 'backfill'
  | 'stopBackfill'
  | 'unlock'
  | 'spoil'
  | 'spoilRow'
  | 'deleteRow'
  | 'forget'
>;

/** The largest error of a wall clock. */
export const SKEWS = [
  ...([0, 0, 0, 0, 150, -150, 1_900, 1_900, -1_900, -1_900, -1_900] as const),
  ...([2_500, -2_500, 30_000, -30_000, 300_000, -300_000] as const),
] as const;

/** Longer than any history. */
export const FOR_GOOD = 1e9;

export interface Counts {
  readonly jobs: number;
  readonly instances: number;
  readonly deployments: number;
}

export function drawDisturbance(random: Random, { kinds, outages }: Theme, until: number, counts: Counts): Disturbance {
  const at = random.whole(0, until);
  const instance = random.whole(0, counts.instances - 1);
  const deployment = random.whole(0, counts.deployments - 1);
  const job = random.whole(0, counts.jobs - 1);
  const back = random.pick([0, 5_000, 60_000, 200_000]);
  const lasts = random.pick([3_000, 20_000, 40_000, 90_000]);
  const kind = kinds[random.whole(0, kinds.length - 1)] ?? 'kill';
  switch (kind) {
    case 'kill':
    case 'drain':
      return { at, kind, instance, back };
    case 'pause':
      return { at, kind, instance, lasts, asleep: random.chance(0.3) };
    case 'setClock':
      return { at, kind, instance, skewMs: random.pick(SKEWS) };
    case 'denied':
      return { at, kind, instance, lasts };
    case 'hubDead':
      return { at, kind, deployment, lasts: random.pick([20_000, 100_000, FOR_GOOD]) };
    case 'hubWiped':
    case 'deploy':
      return { at, kind, deployment };
    case 'appGone':
      return { at, kind, deployment, lasts };
    case 'outage':
      return { at, kind, lasts, how: random.pick([...outages]) };
    case 'pauseJob':
      return { at, kind, job, lasts: random.pick([1_000, 30_000, 150_000]) };
    case 'request':
    case 'cancel':
      return { at, kind, job };
    case 'breakLease':
      return { at, kind, job, period: random.pick([0, 0, 15_000, 60_000]) };
  }
}
