import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { type BreakingHarness, brokenLeaseConformance, leaseStoreConformance } from './suite';

async function openHarness(): Promise<BreakingHarness> {
  const clock = settableClock();
  const service = memoryService(clock);
  return {
    open: () => service.open(),
    // A store in one process's memory has no other process: another handle stands for it.
    writeRowElsewhere: (job, metadata, guard) => service.open().writeRow(job, metadata, guard),
    breakLease: async (job, periodMs) => {
      service.breakLease(job, periodMs);
    },
    pass: (ms) => clock.advance(ms),
    now: () => clock.now(),
    close: async () => {},
  };
}

leaseStoreConformance('memory', openHarness);
brokenLeaseConformance('memory', openHarness);
