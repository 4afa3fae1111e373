import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backfillKey } from '../../src/core/backfill';
import { parseRecordKey, recordKey } from '../../src/core/key';
import { ATTEMPTS, type AttemptEnd, BACKOFF_MS, BackfillLife } from '../support/backfill-life';
import { jobSpec } from '../support/job';
import { runs } from '../support/runs';

const attemptEnd = fc.constantFrom<AttemptEnd>('succeeded', 'succeeded', 'succeeded', 'failed', 'retries', 'dies');
const check = fc.record({
  kind: fc.constant('check' as const),
  after: fc.integer({ min: 10, max: 30_000 }),
  duration: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 150_000 })),
  end: attemptEnd,
});
const ask = fc.record({
  kind: fc.constant('ask' as const),
  order: fc.constantFrom('oldest' as const, 'newest' as const),
  includeSucceeded: fc.boolean(),
  count: fc.integer({ min: 1, max: 8 }),
  back: fc.integer({ min: 0, max: 5 }),
});
const step = fc.oneof(
  { weight: 14, arbitrary: check },
  { weight: 2, arbitrary: ask },
  ...(['stop', 'pause', 'resume', 'request', 'drop'] as const).map((kind) => ({
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant(kind) }),
  })),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const job = fc
  .record({
    schedule: fc.constantFrom('* * * * *', '*/7 * * * *', '@every 40s'),
    catchUp: fc.constantFrom('latest' as const, 'all' as const, 'none' as const),
    overlap: fc.constantFrom('skip' as const, 'queue' as const, 'cancel' as const),
    offsetMs: fc.constantFrom(0, 7_000),
  })
  .map(({ schedule, ...settings }) => {
    const retry = { attempts: ATTEMPTS, backoffMs: BACKOFF_MS, factor: 1, maxBackoffMs: BACKOFF_MS };
    return jobSpec('a', schedule, { ...settings, retry: { ...retry, jitter: 'none' } });
  });

function take(life: BackfillLife, taken: Step): void {
  switch (taken.kind) {
    case 'check':
      life.now += taken.after;
      life.check(taken.duration, taken.end);
      return;
    case 'ask':
      life.ask(taken, taken.count, taken.back);
      return;
    default:
      life[taken.kind]();
  }
}

describe('decide with back-fills', () => {
  it('claims one run at a time, lets due times go first, and gives each due time its own record', () => {
    fc.assert(
      fc.property(job, fc.array(step, { minLength: 10, maxLength: 80 }), (spec, steps) => {
        const life = new BackfillLife(spec);
        for (const taken of steps) take(life, taken);
        life.resume();
        life.rest(300);
        const { backfill } = life;
        for (const [key, outcome] of life.records) {
          const id = parseRecordKey(key)?.request ?? '';
          // No instance continues a run that was aside when its progress was lost and its back-fill stopped or
          // replaced.
          const isGone = life.dropped.has(id) && (id !== backfill?.id || backfill.stopped !== undefined);
          const isAtWork = life.isAtWork && life.row.run?.key === key;
          if (!isGone && !isAtWork) expect(outcome, `${key} never ended`).toBeDefined();
        }
        expect(life.manual).toHaveLength(life.control.manualRuns.length);
        if (backfill === undefined || backfill.stopped !== undefined) return;
        for (const due of life.wanted.get(backfill.id) ?? []) {
          const isDone = life.records.get(backfillKey(backfill, due)) !== undefined;
          const isPassed = !backfill.includeSucceeded && life.hasSucceeded(due);
          expect(isDone || isPassed, `${new Date(due).toISOString()} was left out`).toBe(true);
        }
      }),
      { numRuns: runs(240) },
    );
  });

  it('ends the run that gave way to due times, although its back-fill was stopped and its job paused', () => {
    fc.assert(
      fc.property(job, fc.constantFrom('stop', 'pause', 'both'), (spec, hindrance) => {
        const life = new BackfillLife(spec);
        life.rest(300);
        life.ask({ order: 'newest', includeSucceeded: true }, 3, 0);
        for (let steps = 0; life.row.backfill?.aside === undefined && steps < 1_000; steps += 1) {
          life.now += 1_000;
          const isDueRun = life.row.run?.trigger !== 'backfill';
          life.check(isDueRun ? 5_000 : 1_000, 'retries');
        }
        const { aside } = life.row.backfill ?? {};
        expect(aside, 'no run gave way').toBeDefined();
        if (aside === undefined) return;
        const begun = life.begun.get('fill0')?.length ?? 0;
        if (hindrance !== 'pause') life.stop();
        if (hindrance !== 'stop') life.pause();
        life.rest(400);
        expect(life.row.backfill?.aside).toBeUndefined();
        expect(life.records.get(recordKey(aside.scheduledFor, 'fill0'))).toBe('succeeded');
        expect(life.begun.get('fill0')).toHaveLength(begun);
      }),
      { numRuns: runs(40) },
    );
  });

  it.each(['retrying', 'aside'] as const)('ends each run once where the progress is lost while one is %s', (when) => {
    const start = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(job, fc.constantFrom('oldest' as const, 'newest' as const), start, (spec, order, after) => {
        const life = new BackfillLife(spec);
        life.rest(300);
        life.now += after;
        life.ask({ order, includeSucceeded: true }, 3, 0);
        const isThere = ({ row }: BackfillLife): boolean =>
          when === 'aside'
            ? row.backfill?.aside !== undefined && !life.isAtWork
            : row.phase === 'retrying' && row.run?.trigger === 'backfill';
        for (let steps = 0; !isThere(life) && steps < 1_000; steps += 1) {
          life.now += 1_000;
          const isBackfilled = life.row.run?.trigger === 'backfill' || life.row.backfill?.aside !== undefined;
          life.check(1_000, isBackfilled || when === 'retrying' ? 'retries' : 'succeeded');
        }
        if (!isThere(life)) return;
        life.drop();
        // Without the progress, only the row has the run that waits: it keeps the row, even after a stop.
        if (when === 'retrying') {
          const key = life.row.run?.key ?? '';
          life.stop();
          life.rest(400);
          expect(life.records.get(key)).toBe('succeeded');
          return;
        }
        life.rest(400);
        for (const due of life.wanted.get('fill0') ?? []) {
          expect(life.records.get(recordKey(due, 'fill0')), new Date(due).toISOString()).toBeDefined();
        }
      }),
      { numRuns: runs(60) },
    );
  });
});
