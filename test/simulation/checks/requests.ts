import type { Control } from '../../../src/core/control';
import type { JobFacts, Report } from '../world/facts';

/** One command requests one run, even if it repeats a call. */
export function requestsWritten({ name, requested }: JobFacts, control: Control, report: Report): void {
  for (const { id, number } of control.manualRuns) {
    const before = requested.get(id) ?? number;
    if (before !== number)
      report('requestedTwice', name, `request ${id} is number ${String(before)} and ${String(number)}`);
    requested.set(id, number);
  }
}
