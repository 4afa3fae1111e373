import type { LeaseStore } from '../../src/lease/store';
import { StoreUnavailableError } from '../../src/lease/store';
import type { CallFault } from './plan';
import type { SimulatedProcess } from './process';
import type { Random } from './random';
import type { Timeline } from './timeline';
import type { Trace } from './trace';

/** The way from a process to the storage service and back. */
export interface Network {
  readonly timeline: Timeline;
  readonly trace: Trace;
  /** What happens to the next call of this process; undefined: nothing. */
  fault(): CallFault | undefined;
  /** The storage service is away: calls are refused, or hang. */
  outage(): 'refuses' | 'hangs' | undefined;
  /** The process does not survive this call, or stops for a while in it. */
  crash(): void;
  pause(asleep: boolean): void;
  called(kind: string): void;
}

/** Makes a call over the network: `apply` runs where the service is, its answer comes back to the process. */
export function callOver<T>(
  network: Network,
  from: SimulatedProcess,
  random: Random,
  kind: string,
  apply: () => Promise<T>,
): Promise<T> {
  const { timeline, trace } = network;
  network.called(kind);
  return new Promise<T>((resolve, reject) => {
    const fault = network.fault();
    const log = (what: string): void => {
      trace.add(from.id, `${kind}: ${what}`);
    };
    if (fault !== undefined) log(`fault ${fault}`);
    if (fault === 'crashBefore') {
      network.crash();
      return;
    }
    const there = fault === 'slowThere' ? random.whole(500, 40_000) : random.whole(1, 15);
    const back = fault === 'slowBack' ? random.whole(500, 40_000) : random.whole(1, 15);
    const answer = (settle: () => void, delay = back): void => {
      timeline.after(delay, () => {
        from.enter(settle);
      });
    };
    const unavailable = (why: string): (() => void) => {
      const delay = random.pick([0, 0, 1_000, 60_000]);
      return () => {
        answer(() => {
          reject(new StoreUnavailableError(`simulated: ${why}`));
        }, delay);
      };
    };
    const arrive = async (): Promise<void> => {
      const outage = network.outage();
      if (outage === 'hangs') return;
      if (outage === 'refuses' || fault === 'refused') {
        answer(() => {
          reject(new StoreUnavailableError('simulated: 503'));
        });
        return;
      }
      if (fault === 'lostBefore') {
        unavailable('lost on its way')();
        return;
      }
      try {
        let result = await apply();
        if (fault === 'twice') result = await apply();
        if (fault === 'echo') timeline.after(random.whole(100, 60_000), () => void apply().catch(() => undefined));
        if (fault === 'crashAfter') network.crash();
        if (fault === 'pauseAfter') network.pause(false);
        if (fault === 'sleepAfter') network.pause(true);
        if (fault === 'lostAfter') unavailable('the answer was lost')();
        else {
          answer(() => {
            resolve(result);
          });
        }
      } catch (error) {
        answer(() => {
          reject(error);
        });
      }
    };
    timeline.after(there, () => void arrive());
  });
}

/** A store handle whose calls go over the network. The caller giving up does not call a request back. */
export function storeOver(network: Network, from: SimulatedProcess, random: Random, service: LeaseStore): LeaseStore {
  return new Proxy(service, {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const last = parameters.at(-1);
        const sent = isOptions(last) ? [...parameters.slice(0, -1), withoutSignal(last)] : parameters;
        return callOver(network, from, random, property, () => Reflect.apply(member, target, sent) as Promise<unknown>);
      };
    },
  });
}

function isOptions(value: unknown): value is { readonly signal?: unknown } {
  return typeof value === 'object' && value !== null && 'signal' in value;
}

function withoutSignal(options: { readonly signal?: unknown }): object {
  return { ...options, signal: undefined };
}
