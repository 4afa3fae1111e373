import type { Coordinator } from '../../src/coordinator/coordinator';
import type { Coordinators } from '../../src/functions/coordinators';

/** The coordinators of a process with one storage account. */
export function coordinatorsOf(coordinator: Coordinator | undefined): Coordinators {
  if (coordinator === undefined) throw new Error('there is no instance');
  const { store, jobs } = coordinator;
  return { all: [coordinator], of: () => coordinator, store, jobs: [...jobs.values()].map(({ spec }) => spec) };
}
