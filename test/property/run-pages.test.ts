import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import { recordKey } from '../../src/core/key';
import { newRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import {
  FAILED_OUTCOMES,
  type ListedRun,
  type PageStart,
  type PagedJob,
  type RunFilter,
  pageOfRuns,
  pagedJob,
} from '../../src/operator/views/run-pages';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';
import { runs } from '../support/runs';

const T0 = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const ANY: RunFilter = {
  ...{ outcomes: undefined, since: undefined, until: undefined },
  ...{ trigger: undefined, actor: undefined, channel: undefined, note: undefined },
};

interface Written {
  readonly job: string;
  readonly time: number;
  readonly outcome: string;
}

async function ledger(
  written: readonly Written[],
): Promise<{ readonly store: LeaseStore; readonly jobs: readonly PagedJob[]; readonly listings: string[] }> {
  const whole = memoryService(settableClock(T0)).open();
  const listings: string[] = [];
  const store: LeaseStore = {
    ...whole,
    listRecords: (job, ...rest) => {
      listings.push(job);
      return whole.listRecords(job, ...rest);
    },
  };
  const names = [...new Set(written.map(({ job }) => job))];
  for (const { job, time, outcome } of written) {
    await store.createRecord(job as JobName, recordKey(time), { body: '{}', summary: { state: 'final', outcome } });
  }
  const jobs = names.map((job): PagedJob => {
    const cursor = Math.max(...written.filter((one) => one.job === job).map(({ time }) => time));
    const row = { ...newRow(T0, 1, 'hash'), cursor };
    return { name: job as JobName, spec: jobSpec(job, '@every 1m'), row, current: undefined, isUnreadable: false };
  });
  return { store, jobs, listings };
}

const each = (count: number, of: (n: number) => Written): readonly Written[] =>
  Array.from({ length: count }, (_, n) => of(n));

const brief = ({ job, scheduledFor }: ListedRun): string => `${job} ${String((scheduledFor - T0) / MINUTE)}`;

describe('a page of runs', () => {
  it('costs one listing for each job that it may show, and none for a job that ran long ago', async () => {
    const recent = each(40, (n) => ({ job: `j${String(n)}`, time: T0 + n * MINUTE, outcome: 'succeeded' }));
    const { store, jobs, listings } = await ledger(recent);
    const page = await pageOfRuns(store, jobs, ANY, { limit: 5, start: undefined });
    expect(page.runs.map(brief)).toEqual(['j39 39', 'j38 38', 'j37 37', 'j36 36', 'j35 35']);
    expect(new Set(listings).size).toBe(listings.length);
    expect(listings).toHaveLength(32);
    expect(page.next).toEqual({ job: 'j35', key: recordKey(T0 + 35 * MINUTE) });
  });

  it('has a stretch of due times that reaches into the span, after older manual runs', async () => {
    const { store, jobs } = await ledger([{ job: 'a', time: T0 + 9 * MINUTE, outcome: 'succeeded' }]);
    const through = new Date(T0 + 8 * MINUTE).toISOString();
    const stretch = { state: 'final', outcome: 'paused', through, count: '8' };
    await store.createRecord('a' as JobName, recordKey(T0 + MINUTE), { body: '{}', summary: stretch });
    const manual = { state: 'final', outcome: 'succeeded', trigger: 'manual' };
    await store.createRecord('a' as JobName, recordKey(T0 + 5 * MINUTE, 'm'), { body: '{}', summary: manual });
    const page = await pageOfRuns(store, jobs, { ...ANY, since: T0 + 7 * MINUTE }, { limit: 1, start: undefined });
    expect(page.runs.map(brief)).toEqual(['a 9']);
    const next = await pageOfRuns(store, jobs, { ...ANY, since: T0 + 7 * MINUTE }, { limit: 1, start: page.next });
    expect(next.runs.map(brief)).toEqual(['a 1']);
  });

  it('has the records of a job whose row cannot be read', async () => {
    const written = each(40, (n) => ({ job: `j${String(n)}`, time: T0 + n * MINUTE, outcome: 'succeeded' }));
    const { store, jobs } = await ledger([...written, { job: 'odd', time: T0 + 99 * MINUTE, outcome: 'failed' }]);
    const seen = jobs.map((job) => (job.name === 'odd' ? { ...job, row: undefined, isUnreadable: true } : job));
    const page = await pageOfRuns(store, seen, ANY, { limit: 2, start: undefined });
    expect(page.runs.map(brief)).toEqual(['odd 99', 'j39 39']);
  });

  it.each([
    ['after which a back-filled one has run', { claimedAt: T0 + 51 * MINUTE }, []],
    ['that was too old to run', {}, [{ number: 1, id: 'm', time: T0 + 50 * MINUTE }]],
    ['of a job that was forgotten', { forgotten: T0 + 60 * MINUTE }, []],
  ])('has a manual run %s, although the due times of its job are older', async (_, known, manualRuns) => {
    const written = each(40, (n) => ({ job: `j${String(n)}`, time: T0 + n * MINUTE, outcome: 'succeeded' }));
    const { store, jobs } = await ledger(written);
    const name = 'odd' as JobName;
    const manual = { state: 'final', outcome: 'succeeded', trigger: 'manual' };
    await store.createRecord(name, recordKey(T0 + 50 * MINUTE, 'm'), { body: '{}', summary: manual });
    const row = { ...newRow(T0 - 99 * MINUTE, 1, 'hash'), ...known };
    const control = { ...NO_CONTROL, manualRuns };
    const state = { row, lease: 'available', control, controlEtag: undefined, now: T0 } as const;
    const entry = { name, spec: undefined, listed: undefined, state, unreadable: [], isForgotten: false };
    const page = await pageOfRuns(store, [...jobs, pagedJob(entry)], ANY, { limit: 2, start: undefined });
    expect(page.runs.map(brief)).toEqual(['odd 50', 'j39 39']);
  });

  it('ends with a place to continue where a filter finds nothing for long', async () => {
    const written = each(12_000, (n) => ({
      job: 'a',
      time: T0 + n * MINUTE,
      outcome: n === 0 ? 'failed' : 'succeeded',
    }));
    const { store, jobs, listings } = await ledger(written);
    const filter = { ...ANY, failed: true };
    const first = await pageOfRuns(store, jobs, filter, { limit: 20, start: undefined });
    expect(first.runs).toEqual([]);
    expect(first.next).toBeDefined();
    expect(listings.length).toBeLessThan(15);
    const second = await pageOfRuns(store, jobs, filter, { limit: 20, start: first.next });
    expect(second.runs.map(brief)).toEqual(['a 0']);
    expect(second.next).toBeUndefined();
  });

  it('is one of pages that together have every run that fits, once, in order', async () => {
    const record = fc.record({
      job: fc.constantFrom('a', 'b', 'c'),
      minute: fc.integer({ min: 0, max: 3_000 }),
      outcome: fc.constantFrom('succeeded', 'failed', 'stalled', 'expired'),
    });
    const distinct = { selector: ({ job, minute }: { job: string; minute: number }) => `${job} ${String(minute)}` };
    const bound = fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined });
    const all = fc.record({
      records: fc.uniqueArray(record, { ...distinct, minLength: 1, maxLength: 40 }),
      ...{ limit: fc.integer({ min: 1, max: 7 }), since: bound, until: bound, failed: fc.boolean() },
    });
    await fc.assert(
      fc.asyncProperty(all, async ({ records, limit, since, until, failed }) => {
        const instant = (minute: number | undefined): number | undefined =>
          minute === undefined ? undefined : T0 + minute * MINUTE;
        const written = records.map(({ job, minute, outcome }) => ({ job, time: T0 + minute * MINUTE, outcome }));
        const { store, jobs } = await ledger(written);
        const filter: RunFilter = { ...ANY, failed, since: instant(since), until: instant(until) };
        const found: ListedRun[] = [];
        let start: PageStart | undefined;
        let pages = 0;
        do {
          const page = await pageOfRuns(store, jobs, filter, { limit, start });
          expect(page.runs.length).toBeLessThanOrEqual(limit);
          found.push(...page.runs);
          start = page.next;
          pages += 1;
        } while (start !== undefined && pages < 200);
        const expected = written
          .filter(
            ({ time, outcome }) =>
              time >= (filter.since ?? 0) &&
              time < (filter.until ?? Infinity) &&
              (!failed || FAILED_OUTCOMES.includes(outcome)),
          )
          .toSorted((a, b) => b.time - a.time || (a.job < b.job ? -1 : 1))
          .map(({ job, time }) => `${job} ${String((time - T0) / MINUTE)}`);
        expect(found.map(brief)).toEqual(expected);
      }),
      { numRuns: runs(200) },
    );
  });
});
