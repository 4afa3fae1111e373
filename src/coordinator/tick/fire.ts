import type { JobName, Millis } from '../../core/brand';
import type { Coordinator, Hub, Report } from '../coordinator';
import type { Gate } from '../gate';
import type { Background } from './background';
import type { Batches } from './batches';
import type { BackfillWatch } from '../backfills';
import type { Board } from './board';
import type { ClaimRate } from './claim-rate';
import type { HubWatch } from './hub-watch';
import type { NoticeWatch } from './notice-watch';
import type { OrchestrationWatch } from './orchestrations';
import type { OverdueWatch } from './overdue';
import type { RequiredWatch } from '../required';

/** How many claims run side by side. */
export const CLAIMS_AT_ONCE = 32;

/** One fire of the tick timer, for the steps that serve it. */
export interface Fire {
  /** Counts from 1 in this process. */
  readonly number: number;
  /** The time until this tick should return, shortly before the timer's next fire. */
  readonly untilNext: () => Millis;
  readonly hub: Hub;
  readonly report: Report;
  /** The jobs that this fire found with something to do. */
  readonly due: Set<JobName>;
  /** How many claims it has handed over. */
  handedOver: number;
}

/** The state that all ticks of one process share. */
export interface TickState {
  readonly coordinator: Coordinator;
  readonly board: Board;
  readonly background: Background;
  /** Limits how many storage calls of checks and claims run side by side. Others wait by the ranks of their jobs. */
  readonly gate: Gate;
  readonly batches: Batches;
  readonly hubWatch: HubWatch;
  readonly overdue: OverdueWatch;
  readonly required: RequiredWatch;
  readonly backfills: BackfillWatch;
  readonly notices: NoticeWatch;
  readonly orchestrations: OrchestrationWatch;
  readonly claimRate: ClaimRate;
  /** How many claims of this process were acquired without effect. */
  losses: number;
}
