import { dispatch, runTogether } from '../coordinator/attempt/together';
import type { Coordinator, Hub } from '../coordinator/coordinator';
import { createTicker, onePokeAtOnce, type Ticker } from '../coordinator/tick/tick';
import type { ActivityInput } from '../coordinator/message';
import type { Poked } from '../core/poked';
import type { Coordinators } from './coordinators';
import type { ReportOf } from './report';

/** Carries out an activity: an attempt, attempts of several claims, or a probe of the hub. */
export function perform(
  coordinators: Coordinators,
  input: ActivityInput,
  hub: () => Hub,
  reportOf: ReportOf,
): Promise<unknown> {
  const placeOf = (job: string) => {
    const coordinator = coordinators.of(job);
    return { coordinator, report: reportOf(coordinator) };
  };
  if (input.kind === 'together') return runTogether(input, placeOf, hub());
  const { coordinator, report } = placeOf(input.kind === 'probe' ? '' : input.job);
  return dispatch(coordinator, input, report);
}

/** The ticks of all storage accounts. The timer fires once for them all. */
export interface Tickers {
  /** Each account's tick keeps to its time by itself, so that an outage of one holds up none of the others. */
  tick(hub: Hub, nextFire: Parameters<Ticker['tick']>[1], reportOf: ReportOf): Promise<void>;
  /** Rejects with `StoreError` if an account did not answer, after the others have been served. */
  poke(hub: Hub, reportOf: ReportOf): Promise<Poked | undefined>;
}

export function createTickers(coordinators: readonly Coordinator[]): Tickers {
  const each = coordinators.map((coordinator) => {
    const ticker = createTicker(coordinator);
    return { coordinator, ticker, poke: onePokeAtOnce(coordinator, ticker) };
  });
  return {
    async tick(hub, nextFire, reportOf) {
      await allSettledOrThrow(each.map(({ coordinator, ticker }) => ticker.tick(hub, nextFire, reportOf(coordinator))));
    },
    async poke(hub, reportOf) {
      const pokes = await allSettledOrThrow(each.map(({ coordinator, poke }) => poke(hub, reportOf(coordinator))));
      return pokes.reduce(together);
    },
  };
}

function together(one: Poked | undefined, other: Poked | undefined): Poked | undefined {
  if (one === undefined || other === undefined) return undefined;
  return {
    at: Math.min(one.at, other.at),
    due: one.due + other.due,
    handedOver: one.handedOver + other.handedOver,
    hubProven: one.hubProven && other.hubProven,
    cordoned: one.cordoned || other.cordoned,
  };
}

/** Waits for all, and then rejects with the first error if there is one: nothing is left running unseen. */
export async function allSettledOrThrow<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
