import { type Acting, type Recorded, operate } from '../audit';
import { repairLayouts } from '../shards/repair';

/** Replaces layouts that something else wrote: see `repairLayouts`. */
export function repairLayout(acting: Acting): Promise<Recorded<{ readonly repaired: readonly string[] }>> {
  return operate(acting, 'shards', 'layout', async () => {
    const repaired = await repairLayouts(acting.store, acting);
    return { answer: { repaired }, after: { repaired } };
  });
}
