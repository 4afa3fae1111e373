import { NO_GAP_MS, type Scenario, USUAL } from '../scenario';
import { kill, longIsRunning, othersGoOn } from '../steps';

/**
 * A durable timer goes by its host's clock. A retry that comes late by a clock that is behind is resumed by a tick 10 s
 * after its time: 12 s after the attempt before it, in a job with a period of 10 s.
 */
const LATE_RETRY_MS = 2_000;

/** One instance ahead, one right, one behind; the one that runs the long job is killed. */
function shifted(name: string, text: string, ms: number, gapOthersMs: number): Scenario {
  return {
    name: `clocks-${name}`,
    shows: `clocks ${text} ahead, right, and ${text} behind; kill -9 in the handler`,
    clockShiftsMs: [ms, 0, -ms],
    targets: { ...USUAL, gapOthersMs },
    async act(world) {
      const { deployment } = await longIsRunning(world);
      const fault = await kill(world, deployment);
      await othersGoOn(world, fault);
      return { faults: [fault] };
    },
  };
}

export const clockScenarios: readonly Scenario[] = [
  shifted('150ms', '150 ms', 150, NO_GAP_MS),
  shifted('30s', '30 s', 30_000, NO_GAP_MS + LATE_RETRY_MS),
  shifted('5min', '5 min', 300_000, NO_GAP_MS + LATE_RETRY_MS),
];
