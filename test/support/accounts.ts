import type { JobName, Token } from '../../src/core/brand';
import { type Row, encodeRow, newRow } from '../../src/core/row';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { type Applied, type ShardChange, applyShards } from '../../src/operator/shards/apply';
import type { LeaseTaker } from '../../src/operator/operations/take-lease';
import { memoryService } from '../../src/stores/memory/store';
import { type SettableClock, settableClock } from './clock';

export const T0 = Date.UTC(2026, 0, 1);
export const WAIT_MS = 120_000;
export const LOCATIONS = ['a', 'b', 'c'].map((name) => `https://${name}.blob.core.windows.net/cronlease`);
export const NAMES = Array.from({ length: 10 }, (_, index) => `job-${index}` as JobName);

/** Three accounts. A command that works on them can be cut off after any of its calls. */
export function world() {
  const clock: SettableClock = settableClock(T0);
  /** `isLost`: the last call takes effect, and only its answer is lost. */
  const state = { left: Infinity, isLost: false };
  let ids = 0;
  const stores: LeaseStore[] = LOCATIONS.map((location) => ({ ...memoryService(clock).open(), location }));
  const desks = stores.map((store): LeaseTaker => ({
    store: new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...parameters: unknown[]): Promise<unknown> => {
          state.left -= 1;
          if (state.left === -1 && state.isLost) await Reflect.apply(member, target, parameters);
          if (state.left < 0) throw new StoreUnavailableError('cut off');
          return Reflect.apply(member, target, parameters);
        };
      },
    }),
    clock,
    newId: () => {
      ids += 1;
      return `${String(ids).padStart(8, '0')}-0000-4000-8000-000000000000`;
    },
    waiting: () => undefined,
  }));
  const changeTo = (list: readonly number[], leaving: readonly number[] = [], endRuns = false): ShardChange => ({
    listed: list.map((index) => desks[index] as LeaseTaker),
    leaving: leaving.map((index) => desks[index] as LeaseTaker),
    ...{ waitMs: WAIT_MS, endRuns, history: 'newest' },
  });
  const apply = async (...parameters: Parameters<typeof changeTo>): Promise<Applied> => {
    const answer = applyShards(changeTo(...parameters));
    answer.catch(() => undefined);
    await clock.advance(2 * WAIT_MS);
    return answer;
  };
  return { clock, stores, desks, state, changeTo, apply };
}

export type World = ReturnType<typeof world>;

export async function makeRow(store: LeaseStore, job: JobName, changes: Partial<Row> = {}): Promise<void> {
  await store.createRow(job, encodeRow({ ...newRow(T0, 3, 'f'.repeat(16)), token: 7 as Token, ...changes }));
}
