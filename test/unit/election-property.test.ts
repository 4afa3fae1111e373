import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { type FencedBlob, StaleLeaderError } from '../../src/lease/fence';
import { type Candidate, type ElectionWorld, type Luck, electionWorld } from '../support/election';

const LEASE = 15_000;
const STEP = 100;

type Deed =
  | { readonly kind: 'kill' | 'pause' | 'resign' | 'stop'; readonly who: number }
  | { readonly kind: 'skew'; readonly who: number; readonly ms: number }
  | { readonly kind: 'luck'; readonly who: number; readonly luck: Luck; readonly share: number }
  | { readonly kind: 'break'; readonly periodMs: number };

interface Event {
  readonly after: number;
  readonly lasts: number;
  readonly deed: Deed;
}

const who = fc.nat({ max: 2 });
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill', 'pause', 'pause', 'resign', 'stop'), who }),
  fc.record({ kind: fc.constant('skew' as const), who, ms: fc.integer({ min: -40_000, max: 40_000 }) }),
  fc.record({
    kind: fc.constant('luck' as const),
    who,
    luck: fc.constantFrom<Luck>('lostBefore', 'lostAfter', 'hangs'),
    share: fc.constantFrom(0.3, 0.7, 1),
  }),
  fc.record({ kind: fc.constant('break' as const), periodMs: fc.constantFrom(0, 3_000, 10_000) }),
);
const events = fc.array(
  fc.record<Event>({ after: fc.integer({ min: 0, max: 12_000 }), lasts: fc.integer({ min: 100, max: 40_000 }), deed }),
  { minLength: 1, maxLength: 10 },
);

/** Numbers in [0, 1) from a seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A blob that leaders write to under their fences; each call takes its time. */
function target(world: ElectionWorld, random: () => number): { blob: FencedBlob; tokens: number[] } {
  let etag = 0;
  let metadata: Record<string, string> = {};
  const tokens: number[] = [];
  const pass = (): Promise<void> => sleep(world.clock, Math.round(random() * 3_000));
  const blob: FencedBlob = {
    url: 'memory',
    async getProperties() {
      await pass();
      if (etag === 0) throw Object.assign(new Error('none'), { statusCode: 404 });
      return { etag: String(etag), metadata };
    },
    async upload(_body, _length, options) {
      await pass();
      const { ifMatch } = options?.conditions ?? {};
      if (etag === 0 ? ifMatch !== undefined : ifMatch !== String(etag)) {
        throw Object.assign(new Error('changed'), { statusCode: 412 });
      }
      etag += 1;
      metadata = options?.metadata ?? {};
      tokens.push(Number(metadata['cronleasetoken']));
    },
  };
  return { blob, tokens };
}

async function play(seed: number, history: readonly Event[]): Promise<void> {
  const random = numbers(seed);
  const world = electionWorld({ latencyMs: 40, random });
  const { blob, tokens } = target(world, random);
  const started: number[] = [];
  const candidates = ['x', 'y', 'z'].map((id) =>
    world.candidate(id, {
      task: async ({ token, signal, fence }) => {
        started.push(token);
        while (!signal.aborted) {
          await sleep(world.clock, 500, signal);
          try {
            await fence.write(blob, id);
          } catch (error) {
            if (!(error instanceof StaleLeaderError)) throw error;
          }
        }
      },
    }),
  );
  const gone = new Set<Candidate>();
  const check = (): void => {
    const leading = candidates.filter((one) => !gone.has(one) && one.elector.isLeader);
    if (leading.length > 1) throw new Error(`two trust at ${String(world.clock.monotonic())}`);
  };
  for (const one of candidates) {
    one.luck = () => {
      check();
      return 'fine';
    };
  }
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP) {
      await world.clock.advance(STEP);
      check();
    }
  };
  const run = (one: Candidate, { deed: { kind, ...rest }, lasts }: Event): void => {
    const later = (undo: () => void): void => void world.clock.after(lasts, undo);
    switch (kind) {
      case 'kill':
        one.kill();
        gone.add(one);
        return;
      case 'stop':
        void one.elector.stop();
        gone.add(one);
        return;
      case 'pause':
        one.pause();
        later(() => one.wake());
        return;
      case 'resign':
        void one.elector.resign();
        return;
      case 'skew':
        one.skewMs = 'ms' in rest ? rest.ms : 0;
        return;
      case 'luck': {
        const { luck = 'fine', share = 0 } = 'luck' in rest ? rest : {};
        one.luck = () => {
          check();
          return random() < share ? luck : 'fine';
        };
        later(() => (one.luck = () => 'fine'));
        return;
      }
      case 'break':
        world.service.breakLease('a' as JobName, 'periodMs' in rest ? rest.periodMs : 0);
    }
  };
  await pass(2_000);
  for (const event of history) {
    const one = candidates['who' in event.deed ? event.deed.who : 0];
    const last = gone.size === candidates.length - 1;
    const harmless = event.deed.kind !== 'kill' && event.deed.kind !== 'stop';
    // One is left to see that someone leads in the end.
    if (one !== undefined && !gone.has(one) && (harmless || !last)) run(one, event);
    await pass(event.after);
  }
  // All faults are over by then; a lease that was broken is waited for, and a lost answer's lease runs out.
  await pass(40_000);
  for (const one of candidates) one.wake();
  const rest = candidates.filter((one) => !gone.has(one));
  for (let waited = 0; rest.every(({ elector }) => !elector.isLeader); waited += STEP) {
    if (waited > 4 * LEASE) throw new Error('nobody leads');
    await pass(STEP);
  }
  expect(started).toEqual([...new Set(started)].toSorted((a, b) => a - b));
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
  expect((await world.row()).token).toBeGreaterThanOrEqual(started.at(-1) ?? Infinity);
}

describe('an election under random faults', () => {
  it('has one at most that trusts, tokens that never go back, and somebody who leads in the end', async () => {
    await fc.assert(fc.asyncProperty(fc.integer(), events, play), { numRuns: 150 });
  });
});
