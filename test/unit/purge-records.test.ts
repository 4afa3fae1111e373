import { describe, expect, it } from 'vitest';
import type { ETag, JobName, Millis } from '../../src/core/brand';
import { defineJob } from '../../src/handler/handler';
import type { Coordinator, Report } from '../../src/coordinator/coordinator';
import { Health } from '../../src/coordinator/health';
import { recordPurger } from '../../src/coordinator/tick/purge-records';
import {
  type LeaseStore,
  type ListedJob,
  type ListedRow,
  type Listing,
  type Metadata,
  StoreUnavailableError,
} from '../../src/lease/store';
import { serviceTime } from '../../src/lease/service-time';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';

const rowWith = (metadata: Metadata): ListedRow => ({ etag: '"1"' as ETag, lease: 'available', metadata });
const EMPTY: Listing = { jobs: new Map(), date: 0 };

function world(answer: () => Promise<'done' | 'more'>, facts: Partial<LeaseStore> = {}) {
  const clock = settableClock();
  const events: string[] = [];
  const kept: unknown[] = [];
  const longest: Millis[] = [];
  const store: LeaseStore = {
    ...memoryService(clock).open(),
    ...facts,
    purge: (keep) => {
      kept.push(Object.fromEntries(keep.jobs));
      longest.push(keep.longestMs);
      return answer();
    },
  };
  const spec = jobSpec('nightly', '@every 1m', { keepMs: 90 });
  const jobs: Coordinator['jobs'] = new Map([
    [spec.name, { spec, handler: defineJob({ run: () => undefined }), input: undefined }],
  ]);
  const parts = { store, clock, jobs, health: new Health(), serviceTime: serviceTime(clock) };
  const report = { event: ({ event, reason }) => void events.push(`${event} ${reason ?? ''}`) } as Report;
  const retention = recordPurger(parts as Partial<Coordinator> as Coordinator);
  return { clock, events, kept, longest, purge: (listing = EMPTY) => retention(listing, report) };
}

describe('retention', () => {
  it('deletes at most once an hour, each job by its own length', async () => {
    const { clock, kept, purge } = world(async () => 'done');
    await purge();
    expect(purge()).toBeUndefined();
    await clock.advance(3_599_000);
    expect(purge()).toBeUndefined();
    await clock.advance(1_000);
    await purge();
    expect(kept).toEqual([{ nightly: 90 }, { nightly: 90 }]);
  });

  it('keeps what all deployments share for as long as any job is kept, also one of another jobs file', async () => {
    const { longest, clock, purge } = world(async () => 'done');
    const jobOf = (keepms: string): ListedJob => ({ row: rowWith({ keepms }), date: 0 });
    const yearly = ['yearly' as JobName, jobOf('31536000000')] as const;
    const foreign = ['foreign' as JobName, jobOf('for ever')] as const;
    await purge();
    await clock.advance(3_600_000);
    await purge({ ...EMPTY, jobs: new Map([yearly, foreign]) });
    expect(longest).toEqual([90, 31_536_000_000]);
  });

  it('deletes once in each new day where the store asks for no more, and not on the day of the start', async () => {
    const { clock, kept, purge } = world(async () => 'done', { purgesDaily: true });
    const days: number[] = [];
    for (let hour = 0; hour < 72; hour += 1) {
      await purge();
      days.push(kept.length);
      await clock.advance(3_600_000);
    }
    expect(days[0]).toBe(0);
    expect(days.at(-1)).toBe(3 - (clock.now() % 86_400_000 === 0 ? 1 : 0));
  });

  it('goes on at the next sweep while there are more', async () => {
    const answers: ('done' | 'more')[] = ['more', 'done'];
    const { kept, purge } = world(async () => answers.shift() ?? 'done');
    await purge();
    await purge();
    expect(purge()).toBeUndefined();
    expect(kept).toHaveLength(2);
  });

  it('reports a store that fails, once, and that it answers again', async () => {
    let fails = true;
    const { clock, events, purge } = world(async () => {
      if (fails) throw new StoreUnavailableError('no answer');
      return 'done';
    });
    await purge();
    await clock.advance(3_600_000);
    fails = false;
    await purge();
    expect(events).toEqual([expect.stringContaining('no answer'), 'healthy old records are deleted again']);
  });

  it.each([
    ['an hour', {}],
    ['a day', { purgesDaily: true } as const],
  ])('that is due once in %s is tried again after a failure, soon and then less often', async (_, facts) => {
    let fails = true;
    const { clock, kept, events, purge } = world(async () => {
      if (fails) throw new StoreUnavailableError('no answer');
      return 'done';
    }, facts);
    const tried: number[] = [];
    const sweepFor = async (minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute += 1) {
        const before = kept.length;
        await purge();
        if (kept.length > before) tried.push(clock.now());
        await clock.advance(60_000);
      }
    };
    await sweepFor(48 * 60);
    const waits = tried.slice(1).map((at, index) => (at - (tried[index] ?? 0)) / 60_000);
    expect(waits.slice(0, 9)).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60]);
    fails = false;
    await sweepFor(61);
    expect(events.at(-1)).toBe('healthy old records are deleted again');
  });

  it('asks nothing of a store that needs none', () => {
    const clock = settableClock();
    const parts = { store: memoryService(clock).open(), clock, jobs: new Map() };
    const report = { event: () => undefined } as Partial<Report> as Report;
    expect(recordPurger(parts as Partial<Coordinator> as Coordinator)(EMPTY, report)).toBeUndefined();
  });
});
