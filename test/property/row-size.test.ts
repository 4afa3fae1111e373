import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ManualRun, NO_CONTROL } from '../../src/core/control';
import { decide } from '../../src/core/decide/decide';
import type { Situation } from '../../src/core/decide/situation';
import { OWED_STRETCHES, type Row, encodeRow } from '../../src/core/row';
import { AT, fullRow } from '../support/full-row';
import { jobSpec } from '../support/job';
import { runs } from '../support/runs';
import { situation } from '../support/situation';

const METADATA_BYTES = 8192;
const DAY = 86_400_000;

/** The row that a decision writes, if it writes one. */
function written(s: Situation): Row | undefined {
  const decision = decide(s);
  if (decision.kind === 'record') return decision.row;
  return decision.kind === 'claim' ? { ...fullRow, ...decision.claim.row, run: fullRow.run } : undefined;
}

const situations = fc.record({
  phase: fc.constantFrom(...(['idle', 'running', 'retrying'] as const)),
  record: fc.constantFrom(...(['none', 'open', 'marked', 'final', 'unreadable'] as const)),
  trigger: fc.constantFrom(...(['schedule', 'backfill', 'manual'] as const)),
  owed: fc.nat({ max: OWED_STRETCHES + 1 }),
  /** Ages of requests that wait, in minutes. */
  manualRuns: fc.array(fc.nat({ max: 120 }), { maxLength: 30 }),
  schedule: fc.constantFrom('* * * * *', '0 * * * *', '@manual', '@always'),
  overlap: fc.constantFrom(...(['skip', 'queue', 'cancel'] as const)),
  catchUp: fc.constantFrom(...(['latest', 'all', 'none'] as const)),
  pauses: fc.array(fc.nat({ max: 2000 }), { maxLength: 40 }),
  isNewSchedule: fc.boolean(),
  hasEnded: fc.boolean(),
  /** Holders that die in a row: each decision starts from the row that the last one wrote. */
  deaths: fc.integer({ min: 1, max: 6 }),
});

describe('the row that a decision writes', () => {
  it('fits into a blob’s metadata, whatever is owed, requested, paused or changed', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const job = jobSpec('a'.repeat(63), given.schedule, { overlap: given.overlap, catchUp: given.catchUp });
        const run = fullRow.run && { ...fullRow.run, trigger: given.trigger };
        const hash = given.isNewSchedule ? 'f'.repeat(64) : job.scheduleHash;
        let row: Row = { ...fullRow, owed: fullRow.owed.slice(0, given.owed), revision: 0, manualTaken: 0 };
        row = { ...row, phase: given.phase, scheduleHash: hash, cursor: AT - 2 * DAY, forgotten: undefined, run };
        const requests = given.manualRuns.map((minutes, index): ManualRun => {
          return { number: index + 1, id: 'r'.repeat(64), time: AT - minutes * 60_000 };
        });
        const pauses = given.pauses.map((minutes) => {
          const since = AT - minutes * 60_000;
          return { by: 'person', note: '', since, until: since + 90_000 };
        });
        for (let death = 0; death < given.deaths; death += 1) {
          const lease = given.hasEnded && death === 0 ? 'available' : 'expired';
          const changes = {
            lease,
            record: given.record,
            row,
            control: { ...NO_CONTROL, manualRuns: requests, pauses },
          } as const;
          const next = written(situation(job, AT + DAY + death * 60_000, { ...changes, revision: death + 1 }));
          if (next === undefined) return;
          const bytes = Object.entries(encodeRow(next)).flat().join('').length;
          expect(bytes).toBeLessThanOrEqual(METADATA_BYTES);
          expect(next.owed.length).toBeLessThanOrEqual(OWED_STRETCHES + 1);
          // The next file has yet another schedule.
          row = given.isNewSchedule ? { ...next, scheduleHash: 'e'.repeat(64) } : next;
        }
      }),
      { numRuns: runs(2000) },
    );
  });
});
