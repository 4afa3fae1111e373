import { describe, expect, it } from 'vitest';
import { itemLines } from '../../src/cli/show/why';
import { sleep } from '../../src/core/clock';
import { itemPiece, PLAN_PIECE } from '../../src/core/fan-out';
import { type ItemTable, isItemTable, itemSummary, itemTable, showRanges } from '../../src/core/item-table';
import { mask } from '../../src/core/redact';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import { explainTime } from '../../src/operator/views/explain';
import { describe as explainInWords } from '../../src/operator/views/describe';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';
import type { Instance } from '../support/rival-ticks';

const PLAN = { name: PLAN_PIECE, summary: { items: '1200' } };

function ends(from: number, count: number, state: 'succeeded' | 'failed') {
  const end = (): Parameters<typeof itemSummary>[0] =>
    state === 'failed'
      ? { state, attempts: 3, durationMs: 12, error: { name: 'Error', message: 'é'.repeat(1_000) } }
      : { state, attempts: 1, durationMs: 1_234 };
  return Array.from({ length: count }, (_, index) => ({ name: itemPiece(from + index), summary: itemSummary(end()) }));
}

describe('the table of items', () => {
  it('has all that succeed of a thousand, and no more than its room', () => {
    const all = itemTable([PLAN, ...ends(0, 1_200, 'succeeded')]);
    expect(all).toMatchObject({ planned: 1_200, succeeded: 1_200, failed: 0 });
    expect(all?.lines.length).toBeGreaterThan(1_000);
    expect(all?.lines.length).toBe(1_200 - (all?.leftOut ?? 0));
    expect(JSON.stringify(all?.lines).length).toBeLessThanOrEqual(64 * 1024);
    expect(all?.notEnded).toBeUndefined();
  });

  it('lists what has not ended, in ranges', () => {
    const all = itemTable([PLAN, ...ends(1, 2, 'succeeded'), ...ends(4, 1, 'failed'), ...ends(7, 1_190, 'succeeded')]);
    const notEnded = [
      { from: 0, to: 0 },
      { from: 3, to: 3 },
      { from: 5, to: 6 },
      { from: 1_197, to: 1_199 },
    ];
    expect(all?.notEnded).toEqual(notEnded);
    expect(isItemTable(all)).toBe(true);
    expect(isItemTable({ ...all, notEnded: [{ from: 1 }] })).toBe(false);
    expect(showRanges(notEnded, 10)).toBe('0, 3, 5, 6, 1197 to 1199');
    expect(showRanges(notEnded, 2)).toBe('0, 3, …');
    const every2nd = Array.from({ length: 600 }, (_, index) => ends(index * 2, 1, 'succeeded')).flat();
    expect(itemTable([PLAN, ...every2nd])?.notEnded).toHaveLength(500);
  });

  it('has failed ones first, and counts those for which there is no room', () => {
    const all = itemTable([PLAN, ...ends(0, 100, 'succeeded'), ...ends(100, 900, 'failed')]);
    expect(all).toMatchObject({ planned: 1_200, succeeded: 100, failed: 900 });
    expect(all?.lines[0]).toMatchObject({ index: 100, state: 'failed', error: `Error: ${'é'.repeat(193)}` });
    expect(all?.lines.every(({ state }) => state === 'failed')).toBe(true);
    expect((all?.lines.length ?? 0) + (all?.leftOut ?? 0)).toBe(1_000);
  });

  it('leaves out what something else has written', () => {
    const foreign = ['{"state":', 'true', 'NaN'].map((text, index) => ({
      ...{ name: itemPiece(index), summary: { state: 'succeeded', attempts: text, took: text, error: text } },
    }));
    const other = { name: itemPiece(7), summary: { state: 'other' } };
    expect(itemTable([PLAN, ...foreign, other])).toEqual({
      ...{ planned: 1_200, succeeded: 3, failed: 0, leftOut: 0 },
      notEnded: [{ from: 3, to: 1_199 }],
      lines: [0, 1, 2].map((index) => ({ index, state: 'succeeded', attempts: 1 })),
    });
    expect(itemTable(foreign)).toBeUndefined();
  });

  it('is short in a terminal', () => {
    const failed = (index: number) => ({ index, state: 'failed', attempts: 2, error: 'Error: no\u001b[31m' }) as const;
    const items: ItemTable = {
      ...{ planned: 9, succeeded: 0, failed: 8, leftOut: 0, notEnded: [{ from: 8, to: 8 }] },
      lines: Array.from({ length: 8 }, (_, index) => failed(index)),
    };
    const lines = itemLines({ items }, false);
    expect(lines).toHaveLength(7);
    expect(lines[0]).toBe('  item 0 failed after 2 calls: Error: no\\u001b[31m');
    expect(lines.slice(5)).toEqual(['  and 3 more', '  not ended: 8']);
    expect(itemLines({ items }, true)).toHaveLength(9);
  });
});

describe('a run of items in the API', () => {
  const secret = /key=\S+/dg;
  const hidden = (text: string) =>
    [...text.matchAll(secret)].map(({ index, 0: all }) => ({ start: index, end: index + all.length }));
  const redact = (texts: readonly string[], most: number) => texts.map((text) => mask(text, hidden(text), most));

  it('has its items while they are at work and after its end, without secrets', async () => {
    const job = jobSpec('wide', '@every 10m', { timeoutMs: 600_000 });
    const wide = (on: Instance) => {
      Object.assign(on.coordinator, { redact });
      return defineFanOut<unknown, number, string>({
        onItemFailure: 'collect',
        plan: () => [1_000, 60_000, 1_000],
        each: async ({ index }, ms) => {
          await sleep(on.coordinator.clock, ms);
          if (index === 2) throw new NonRetryableError('no account for key=4711');
          return 'done';
        },
        gather: () => 'done',
      });
    };
    const made = manageBench({ jobs: [job], fanOut: { wide }, deployments: 1, sweepIntervalMs: 2_000 });
    await made.sim.clock.advance(620_000);
    const { json } = await made.send({ path: 'runs?job=wide', as: 'viewer' });
    const { runId, scheduledFor } = (json as { runs: { runId: string; scheduledFor: string }[] }).runs[0] ?? {};
    made.calls.clear();
    const atWork = await made.send({ path: `runs/${runId ?? ''}`, as: 'viewer' });
    const failed = {
      ...{ index: 2, state: 'failed', attempts: 1, durationMs: 1_000 },
      error: 'NonRetryableError: no account for ***',
    };
    const first = { index: 0, state: 'succeeded', attempts: 1, durationMs: 1_000 };
    expect(atWork.json).toMatchObject({
      outcome: 'running',
      items: {
        ...{ planned: 3, succeeded: 1, failed: 1, lines: [failed, first], leftOut: 0 },
        noted: [{ index: 1, state: 'running', attempt: 1 }],
      },
    });
    expect(made.calls.get('listPieces')).toBe(1);
    const why = await explainTime(made.sim.store, job, 0, Date.parse(scheduledFor ?? ''));
    expect(explainInWords(why, String)).toBe('Its items are running: 2 of 3 done, 1 failed.');

    await made.sim.clock.advance(120_000);
    made.calls.clear();
    const over = await made.send({ path: `runs/${runId ?? ''}`, as: 'viewer' });
    expect(over.json).toMatchObject({
      outcome: 'succeeded',
      items: {
        ...{ planned: 3, succeeded: 2, failed: 1, leftOut: 0 },
        lines: [failed, first, { index: 1, state: 'succeeded', attempts: 1, durationMs: 60_000 }],
      },
    });
    expect(made.calls.get('listPieces')).toBeUndefined();
  });
});
