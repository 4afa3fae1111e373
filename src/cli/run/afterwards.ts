import { orRefusal } from '../../operator/operator-error';
import { warn } from '../output';

/**
 * Reads what a command adds to its answer once its change is made. If that fails, the answer lacks it: an error would
 * look as if the change had failed.
 */
export async function afterwards<Found>(read: () => Promise<Found>): Promise<Found | undefined> {
  const answer = await orRefusal(async () => ({ found: await read() }));
  if ('found' in answer) return answer.found;
  warn(`the change took place, but what follows from it could not be read: ${answer.problem}`);
  return undefined;
}
