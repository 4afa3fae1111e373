import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { StoreUnavailableError } from './store';

/**
 * Makes a call that ends in time, whatever the other side does: after `limit` its signal is aborted and the call
 * rejects with {@link StoreUnavailableError}, since nobody knows whether it took effect.
 */
export async function within<T>(
  clock: Clock,
  limit: Millis,
  call: (signal: AbortSignal) => Promise<T>,
  whose = 'storage',
): Promise<T> {
  const controller = new AbortController();
  let cancel = (): void => undefined;
  const expired = new Promise<never>((_, reject) => {
    cancel = clock.after(Math.max(0, limit), () => {
      const reason = new StoreUnavailableError(`no answer from ${whose} within ${String(Math.round(limit))} ms`);
      controller.abort(reason);
      reject(reason);
    });
  });
  try {
    return await Promise.race([call(controller.signal), expired]);
  } finally {
    cancel();
  }
}
