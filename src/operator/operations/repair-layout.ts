import { type Acting, type Recorded, operate } from '../audit';
import { repairLayouts } from '../shards/repair';

export function repairLayout(acting: Acting): Promise<Recorded<{ readonly repaired: readonly string[] }>> {
  return operate(acting, 'shards', 'layout', async () => {
    const repaired = await repairLayouts(acting.store, acting);
    return { answer: { repaired }, after: { repaired } };
  });
}
