import type { Millis } from '../../core/brand';
import type { Poked } from '../../core/poked';
import type { Coordinator, Hub, Report } from '../coordinator';
import type { Ticker } from './tick';

/** Within this time of its beginning, further pokes get the answer of the last one. */
const POKE_AGAIN_MS: Millis = 5_000;

/** Starts a tick now. Undefined: this process is being shut down. Rejects with `StoreError`. */
export type Poke = (hub: Hub, report: Report) => Promise<Poked | undefined>;

/**
 * However many callers poke at once, this process runs one tick for them, and at most one in five seconds: monitors call
 * from several places at the same time, and none of them may cost storage calls at will. Decision 022.
 */
export function onePokeAtOnce({ clock }: Coordinator, ticker: Ticker): Poke {
  let last: { readonly at: Millis; isOver: boolean; readonly answer: Promise<Poked | undefined> } | undefined;
  return (hub, report) => {
    const now = clock.monotonic();
    if (last !== undefined && (!last.isOver || now - last.at < POKE_AGAIN_MS)) return last.answer;
    const own = { at: now, isOver: false, answer: ticker.poke(hub, report) };
    const over = (): void => {
      own.isOver = true;
    };
    own.answer.then(over, over);
    last = own;
    return own.answer;
  };
}
