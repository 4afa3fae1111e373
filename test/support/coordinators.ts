import type { Coordinator } from '../../src/coordinator/coordinator';
import type { Coordinators } from '../../src/functions/coordinators';
import { createTickers } from '../../src/functions/tickers';

/** The coordinators of a process with one storage account. */
export function coordinatorsOf(coordinator: Coordinator | undefined): Coordinators {
  if (coordinator === undefined) throw new Error('there is no instance');
  const { store, jobs } = coordinator;
  const all = [coordinator];
  const specs = [...jobs.values()].map(({ spec }) => spec);
  return { all, first: coordinator, of: () => coordinator, tickers: createTickers(all), store, jobs: specs };
}
