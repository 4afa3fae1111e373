import type { Scenario } from '../scenario';
import { backfillScenarios } from './backfills';
import { clockScenarios } from './clocks';
import { groupScenarios } from './groups';
import { killScenarios } from './kill';
import { networkScenarios } from './network';
import { noticeScenarios } from './notices';
import { restartScenarios } from './restart';
import { stopScenarios } from './stop';
import { storageScenarios } from './storage';
import { waitingScenarios } from './waiting';

export const scenarios: readonly Scenario[] = [
  ...killScenarios,
  ...stopScenarios,
  ...storageScenarios,
  ...networkScenarios,
  ...clockScenarios,
  ...restartScenarios,
  ...noticeScenarios,
  ...backfillScenarios,
  ...groupScenarios,
  ...waitingScenarios,
];
