import type { Edit } from './edit';
import type { Mixture } from './mixes';
import { BACKFILL_FAULTS } from './planted-backfills';
import { CALL_JOB_FAULTS } from './planted-calls';
import { CLAIM_FAULTS } from './planted-claims';
import { DECISION_FAULTS } from './planted-decisions';
import { ELECTION_FAULTS } from './planted-elections';
import { FAILOVER_FAULTS } from './planted-failover';
import { FAN_OUT_FAULTS } from './planted-fan-out';
import { GROUP_FAULTS } from './planted-groups';
import { LOG_FAULTS } from './planted-logs';
import { MIGRATION_FAULTS } from './planted-migrations';
import { NOTICE_FAULTS } from './planted-notices';
import { MONTHS_FAULTS } from './planted-months';
import { HAND_OVER_FAULTS } from './planted-hand-overs';
import { ORCHESTRATION_FAULTS } from './planted-orchestrations';
import { PEOPLE_FAULTS } from './planted-people';
import { REQUIRES_FAULTS } from './planted-requires';
import { CONCURRENCY_FAULTS } from './planted-concurrency';
import { TIME_FAULTS } from './planted-time';
import { TRUST_FAULTS } from './planted-trust';

/** A planted fault: a rule of the product that is left out. */
export interface Planted {
  /** Its name for `--plant`. */
  readonly name: string;
  /** The change, in a phrase. */
  readonly what: string;
  /** The mix of histories that must show it, or several at once. Default: the plain ones. */
  readonly mix?: Mixture;
  readonly edits: readonly Edit[];
}

export const PLANTED: readonly Planted[] = [
  ...CLAIM_FAULTS,
  ...HAND_OVER_FAULTS,
  ...TRUST_FAULTS,
  ...DECISION_FAULTS,
  ...FAN_OUT_FAULTS,
  ...ORCHESTRATION_FAULTS,
  ...LOG_FAULTS,
  ...MONTHS_FAULTS,
  ...TIME_FAULTS,
  ...PEOPLE_FAULTS,
  ...ELECTION_FAULTS,
  ...FAILOVER_FAULTS,
  ...CONCURRENCY_FAULTS,
  ...REQUIRES_FAULTS,
  ...NOTICE_FAULTS,
  ...BACKFILL_FAULTS,
  ...GROUP_FAULTS,
  ...MIGRATION_FAULTS,
  ...CALL_JOB_FAULTS,
];

export function plantedBy(name: string): Planted | undefined {
  return PLANTED.find((planted) => planted.name === name);
}
