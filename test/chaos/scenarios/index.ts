import type { Scenario } from '../scenario';
import { clockScenarios } from './clocks';
import { killScenarios } from './kill';
import { networkScenarios } from './network';
import { restartScenarios } from './restart';
import { stopScenarios } from './stop';
import { storageScenarios } from './storage';

export const scenarios: readonly Scenario[] = [
  ...killScenarios,
  ...stopScenarios,
  ...storageScenarios,
  ...networkScenarios,
  ...clockScenarios,
  ...restartScenarios,
];
