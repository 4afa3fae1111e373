import type { JobName } from '../../../src/core/brand';
import { type LeaseStore, type Listing, StoreDeniedError, StoreUnavailableError } from '../../../src/lease/store';
import { type CallFault, type FaultStream, faultsOfCall } from '../faults/faults';
import type { SimulatedProcess } from './process';
import { seeded } from '../faults/random';
import type { Timeline } from './timeline';
import type { Trace } from './trace';

/** The outages of the storage service: it refuses all calls or most of them, answers late, or does not answer. */
export type Outage = 'refuses' | 'throttles' | 'slows' | 'hangs';
/** The share of calls that are refused while it throttles. */
const THROTTLED = 0.7;
/** How late answers are while it is slow. */
const SLOW_MS = [500, 5_500] as const;
/**
 * After a call that was the last one before a process was stopped, it stays so for this long: longer than most leases.
 */
const STOPPED_MS = 45_000;
/** The same, if it must not come back in time. */
const STOPPED_LONG_MS = 80_000;
/** A process that exits this soon after it began a request has not sent it: the connection is not open yet. */
const SENDING_MS = 10;

/** The way from one process to the storage service and back. */
export interface Network {
  readonly timeline: Timeline;
  readonly trace: Trace | undefined;
  readonly calls: FaultStream;
  /** The extra time of each call, in both directions. */
  readonly slowMs: number;
  outage(): Outage | undefined;
  /** The service refuses this process: its role is missing. */
  denied(): boolean;
  /** Kills the process in this call, or stops it for a while. */
  crash(back: number): void;
  pause(lasts: number, asleep: boolean): void;
  called(): void;
  /** Grows whenever all requests in flight are lost: time leaps, or the account fails over. */
  era(): number;
}

interface Call<T> {
  readonly kind: string;
  /** Runs at the service. */
  readonly apply: () => Promise<T>;
  /** For a listing: two that were made one after another, as one answer. */
  readonly tear?: (first: T, second: T, seed: number) => T;
}

/** Makes a call over the network: its answer comes back to the process. */
export function callOver<T>(network: Network, from: SimulatedProcess, { kind, apply, tear }: Call<T>): Promise<T> {
  const { timeline, trace } = network;
  network.called();
  const { fault, random } = network.calls.next(faultsOfCall(kind));
  if (fault !== undefined) {
    trace?.add(from.id, `${kind}: fault ${fault.kind}${fault.ms > 0 ? `, ${String(fault.ms)} ms` : ''}`);
  }
  return new Promise<T>((resolve, reject) => {
    if (fault?.kind === 'crashBefore' || fault?.kind === 'lostRecord' || fault?.kind === 'lastRelease') {
      network.crash(fault.ms);
      return;
    }
    const there = isSlowThere(fault?.kind) ? (fault?.ms ?? 0) : random.whole(1, 15) + network.slowMs / 2;
    const slowly = network.outage() === 'slows' ? random.whole(...SLOW_MS) : 0;
    const back = fault?.kind === 'slowBack' ? fault.ms : slowly + random.whole(1, 15) + network.slowMs / 2;
    const answer = (settle: () => void, delay = back): void => {
      timeline.after(delay, () => {
        from.enter(settle);
      });
    };
    const unavailable = (why: string, delay?: number): void => {
      answer(() => {
        reject(new StoreUnavailableError(`simulated: ${why}`));
      }, delay);
    };
    const era = network.era();
    const begunAt = timeline.now();
    const arrive = async (): Promise<void> => {
      if (from.exitedAt !== undefined && from.exitedAt < begunAt + SENDING_MS) return;
      // No request is in flight for days, and none reaches the account that takes over.
      if (network.era() > era) {
        unavailable('lost on its way');
        return;
      }
      const outage = network.outage();
      if (outage === 'hangs') return;
      if (outage === 'refuses' || (outage === 'throttles' && random.chance(THROTTLED)) || fault?.kind === 'throttled') {
        unavailable('503');
        return;
      }
      if (fault?.kind === 'denied' || network.denied()) {
        answer(() => {
          reject(new StoreDeniedError('simulated: 403'));
        });
        return;
      }
      if (fault?.kind === 'lostBefore') {
        unavailable('lost on its way', fault.ms);
        return;
      }
      try {
        let result: T = await apply();
        switch (fault?.kind) {
          case 'twice':
            result = await apply();
            break;
          case 'echo':
            timeline.after(fault.ms, () => {
              if (network.era() === era) apply().catch(() => undefined);
            });
            break;
          case 'torn':
            if (tear === undefined) break;
            await new Promise<void>((go) => timeline.after(fault.ms, go));
            result = tear(result, await apply(), fault.ms);
            break;
          case 'crashAfter':
            network.crash(fault.ms);
            break;
          case 'pauseAfter':
          case 'lastRead':
          case 'sleepAfter':
            network.pause(fault.ms, fault.kind === 'sleepAfter');
            break;
          default:
        }
        if (fault?.kind === 'lostAfter') unavailable('the answer was lost', fault.ms);
        else {
          answer(() => {
            resolve(result);
          });
        }
      } catch (error) {
        answer(() => {
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      }
    };
    timeline.after(there, () => void arrive());
    if (fault?.kind === 'crashSent') network.crash(STOPPED_MS);
    if (fault?.kind === 'pauseSent') network.pause(STOPPED_MS, false);
    if (fault?.kind === 'lastRecord') network.pause(STOPPED_LONG_MS, false);
  });
}

const SLOW_THERE: ReadonlySet<CallFault> = new Set<CallFault>([
  'slowThere',
  'crashSent',
  'pauseSent',
  'lastRecord',
  'lateRelease',
]);

function isSlowThere(kind: CallFault | undefined): boolean {
  return kind !== undefined && SLOW_THERE.has(kind);
}

/**
 * A store handle whose calls go over the network. A caller that gives up does not recall its request.
 *
 * @param passing sees each call as it is sent, and what a listing brings as it arrives
 */
export function storeOver(
  network: Network,
  from: SimulatedProcess,
  service: LeaseStore,
  passing: { sent(method: string, parameters: readonly unknown[]): void; listed(listing: Listing): void },
): LeaseStore {
  return new Proxy(service, {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const last = parameters.at(-1);
        const sent = isOptions(last) ? [...parameters.slice(0, -1), { ...last, signal: undefined }] : parameters;
        passing.sent(property, sent);
        if (property === 'list') {
          const apply = (): Promise<Listing> => Reflect.apply(member, target, sent) as Promise<Listing>;
          return callOver(network, from, { kind: `list ${jobOf(last)}`, apply, tear }).then((listing) => {
            // No one reads an answer to a call that was given up.
            if (!hasGivenUp(last)) passing.listed(listing);
            return listing;
          });
        }
        const kind = typeof sent[0] === 'string' ? `${sent[0]} ${property}` : property;
        return callOver(network, from, {
          kind,
          apply: () => Reflect.apply(member, target, sent) as Promise<unknown>,
        });
      };
    },
  });
}

/** Pages are not of one instant, and a row's page may be another than its control's. Each row has its page's Date. */
function tear(first: Listing, second: Listing, seed: number): Listing {
  const random = seeded(seed);
  const jobs = new Map<JobName, NonNullable<ReturnType<Listing['jobs']['get']>>>();
  for (const [job, later] of second.jobs) {
    const earlier = first.jobs.get(job);
    const { row, date = first.date } = random.chance(0.5) ? (earlier ?? {}) : later;
    const { control } = random.chance(0.5) ? (earlier ?? {}) : later;
    jobs.set(job, { ...(row && { row }), ...(control && { control }), date });
  }
  // The layout is on the first page.
  return { ...first, jobs };
}

function hasGivenUp(value: unknown): boolean {
  return isOptions(value) && value.signal instanceof AbortSignal && value.signal.aborted;
}

function isOptions(value: unknown): value is { readonly signal?: unknown } {
  return typeof value === 'object' && value !== null && 'signal' in value;
}

function jobOf(options: unknown): string {
  return typeof options === 'object' && options !== null && 'job' in options ? String(options.job) : '';
}
