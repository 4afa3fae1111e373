import type { EpochMs } from '../../core/brand';
import type { Stat } from './protocol';

/** The leader's time of the write that the stat is of. */
export function timeOf({ writtenMs }: Stat): EpochMs {
  return writtenMs;
}
