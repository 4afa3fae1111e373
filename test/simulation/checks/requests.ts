import type { Control } from '../../../src/core/control';
import type { JobFacts, Report } from '../world/facts';

/** One command asks for one run, also where it makes a call again. */
export function requestsWritten({ name, requested }: JobFacts, control: Control, report: Report): void {
  for (const { id, number } of control.requests) {
    const before = requested.get(id) ?? number;
    if (before !== number)
      report('requestedTwice', name, `request ${id} is number ${String(before)} and ${String(number)}`);
    requested.set(id, number);
  }
}
