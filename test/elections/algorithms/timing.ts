import type { Clock } from '../../../src/core/clock';
import type { Millis } from '../../../src/core/brand';

/** A leader tells the others this often that it is alive. */
export const HEARTBEAT_MS: Millis = 1_000;
/** A leader that is not heard for this long is taken for dead. */
export const SILENCE_MS: Millis = 3_000;
/** The longest time that a message takes, if the assumption of Bully and Chang-Roberts holds. */
export const DELIVERY_MS: Millis = 500;

/** One timer: setting it again cancels what it was set for. */
export function oneTimer(clock: Clock): (delay: Millis, run: () => void) => void {
  let cancel = (): void => undefined;
  return (delay, run) => {
    cancel();
    cancel = clock.after(delay, run);
  };
}
