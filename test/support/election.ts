import type { JobName } from '../../src/core/brand';
import { type Clock, sleep } from '../../src/core/clock';
import { decodeElectionRow, type ElectionRow } from '../../src/election/campaign';
import { type ElectionEvent, Elector } from '../../src/election/elector';
import {
  type CampaignOptions,
  type ElectionSettings,
  type LeaderElectionOptions,
  checkOptions,
} from '../../src/election/options';
import { type RowStore, StoreUnavailableError } from '../../src/lease/store';
import { type MemoryService, memoryService } from '../../src/stores/memory/store';
import { type SettableClock, settableClock } from './clock';
import type { Leadership } from '../../src/election/leadership';

/** The fault of one call to storage. */
export type Luck = 'fine' | 'lostBefore' | 'lostAfter' | 'hangs' | 'noContainer';

export interface Candidate {
  readonly elector: Elector;
  readonly events: ElectionEvent[];
  /** The terms that its task was called with. */
  readonly terms: Leadership[];
  /** The number of calls of each kind to its store. */
  readonly calls: Map<string, number>;
  luck: (call: string) => Luck;
  /** Kills it, as by `kill -9`. */
  kill(): void;
  /** Stops and continues it, as by SIGSTOP and SIGCONT. */
  pause(): void;
  wake(): void;
  /** Of its wall clock. */
  skewMs: number;
}

export interface ElectionWorld {
  readonly clock: SettableClock;
  readonly service: MemoryService;
  candidate(id: string, changes?: Partial<CampaignOptions>): Candidate;
  row(): Promise<ElectionRow>;
  /** Waits for a promise, for a second of the settable clock or for `withinMs`. */
  settled<T>(work: Promise<T>, withinMs?: number): Promise<T>;
  /** Waits until the condition holds, on the settable clock. */
  until(condition: () => boolean, withinMs: number): Promise<void>;
}

const NAME = 'a' as JobName;

/** Several candidates over one in-memory store, on one clock that the test moves. */
export function electionWorld(options: { latencyMs?: number; random?: () => number } = {}): ElectionWorld {
  const { latencyMs = 0, random = () => 0.5 } = options;
  const clock = settableClock();
  const service = memoryService(clock);
  const store = service.open();
  let ids = 0;
  return {
    clock,
    service,
    candidate(id, changes = {}) {
      const life = { dead: false, waiting: undefined as undefined | (() => void)[] };
      const events: ElectionEvent[] = [];
      const terms: Leadership[] = [];
      const calls = new Map<string, number>();
      const own = ownClock(clock, life, () => candidate.skewMs);
      const world = {
        store: ownStore(store, own, latencyMs, (call) => {
          calls.set(call, (calls.get(call) ?? 0) + 1);
          return candidate.luck(call);
        }),
        clock: own,
        random,
        newId: () => {
          ids += 1;
          return `${String(ids).padStart(8, '0')}-0000-4000-8000-000000000000`;
        },
      };
      const elector = new Elector(settingsOf(id, terms, changes), world, (event) => void events.push(event));
      const candidate: Candidate = {
        elector,
        events,
        terms,
        calls,
        luck: () => 'fine',
        skewMs: 0,
        kill: () => {
          life.dead = true;
        },
        pause: () => {
          life.waiting ??= [];
        },
        wake: () => {
          const waiting = life.waiting ?? [];
          life.waiting = undefined;
          for (const run of waiting) run();
        },
      };
      elector.start();
      return candidate;
    },
    async row() {
      const found = await store.readRow(NAME);
      if (found === undefined) throw new Error('no row');
      return decodeElectionRow(found.metadata);
    },
    async settled(work, withinMs = 1_000) {
      const result = work.then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      const late = clock.advance(withinMs).then(() => () => {
        throw new Error(`it took longer than ${String(withinMs)} ms`);
      });
      return (await Promise.race([result, late]))();
    },
    async until(condition, withinMs) {
      for (let passed = 0; passed < withinMs; passed += 50) {
        if (condition()) return;
        await clock.advance(50);
      }
      if (!condition()) throw new Error(`not within ${String(withinMs)} ms: ${String(condition)}`);
    },
  };
}

function settingsOf(id: string, terms: Leadership[], changes: Partial<CampaignOptions>): ElectionSettings {
  const { task = (leadership: Leadership) => aborted(leadership.signal) } = changes;
  const options: LeaderElectionOptions = {
    ...OPTIONS,
    id,
    lease: '15s',
    ...changes,
    task: (leadership) => {
      terms.push(leadership);
      return task(leadership);
    },
  };
  return checkOptions(options, () => id, LEASES);
}

function never(): never {
  throw new Error('the memory store is used instead');
}

/** The lengths that leases may have. */
export const LEASES = { least: 15_000, most: 60_000 };

/** The settings of every election. No call reaches its container. */
export const OPTIONS = {
  container: { url: '', create: never, getBlockBlobClient: never },
  name: NAME,
  task: () => undefined,
} satisfies LeaderElectionOptions;

/** A task that only waits for its end. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Life {
  dead: boolean;
  waiting: (() => void)[] | undefined;
}

function ownClock(clock: Clock, life: Life, skew: () => number): Clock {
  return {
    now: () => clock.now() + skew(),
    monotonic: () => clock.monotonic(),
    after: (delay, run) => {
      let cancelled = false;
      const fire = (): void => {
        if (cancelled || life.dead) return;
        if (life.waiting === undefined) run();
        else life.waiting.push(fire);
      };
      // Whole milliseconds: parts of them get lost in the settable clock's wall time, which would stand still forever.
      const cancel = clock.after(Math.ceil(delay), fire);
      return () => {
        cancelled = true;
        cancel();
      };
    },
  };
}

/** Calls travel by the candidate's clock in both directions, so that a paused candidate gets no answer. */
function ownStore(store: RowStore, clock: Clock, latencyMs: number, luckOf: (call: string) => Luck): RowStore {
  return new Proxy(store, {
    get(target, property: keyof RowStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return async (...parameters: unknown[]) => {
        const luck = luckOf(property);
        await sleep(clock, latencyMs / 2);
        if (luck === 'hangs') return new Promise(() => undefined);
        if (luck === 'lostBefore') throw new StoreUnavailableError('lost before');
        if (luck === 'noContainer') throw new StoreUnavailableError('no such container', { noContainer: true });
        const answer: unknown = await Reflect.apply(member, target, parameters);
        await sleep(clock, latencyMs / 2);
        if (luck === 'lostAfter') throw new StoreUnavailableError('lost after');
        return answer;
      };
    },
  });
}
