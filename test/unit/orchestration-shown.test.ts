import { describe, expect, it } from 'vitest';
import { beatPiece, beatSummary } from '../../src/core/fan-out';
import type { JobName } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { encodeRow, newRow } from '../../src/core/row';
import { describe as inWords } from '../../src/operator/views/describe';
import { explainTime } from '../../src/operator/views/explain';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';

const DUE = Date.UTC(2026, 0, 1, 0, 1);
const SPEC = jobSpec('close', '* * * * *', { timeoutMs: 86_400_000 });
const ID = 'close-20260101T000100Z-t4';

/** A run whose orchestration is at work, and has set this custom status. */
async function atWork(progress: Parameters<typeof beatSummary>[1]) {
  const bench = manageBench({ jobs: [SPEC], deployments: 0, start: DUE + 30_000 });
  const { store } = bench.sim;
  const key = recordKey(DUE);
  const past = { attempt: 1, token: 4, deployment: 'eu', start: DUE, end: DUE + 500, outcome: 'planned' } as const;
  const row = {
    ...newRow(DUE, 0, SPEC.scheduleHash),
    ...{ token: 4, phase: 'fanning', attempt: 1, incumbent: 'eu', past: [past], notBefore: DUE + 86_400_000 },
    run: { key, scheduledFor: DUE, trigger: 'schedule', since: DUE },
  };
  await store.createRow(SPEC.name, encodeRow(row as never));
  const piece = { body: '{}', summary: beatSummary([], progress) };
  await store.createPiece('close' as JobName, key, beatPiece(4 as never, 'p'), piece);
  return bench;
}

describe('the run of an orchestration', () => {
  it('has its id and its progress in why', async () => {
    const { sim } = await atWork({ note: 'account 3\nof 8', fraction: 0.375 });
    const explained = await explainTime(sim.store, SPEC, 0, DUE);
    expect(explained).toMatchObject({ reason: 'fanningOut', orchestration: ID, progress: { fraction: 0.375 } });
    const words = `Its orchestration ${ID} is running: 37 %  account 3\\nof 8.`;
    expect(inWords(explained, String)).toBe(words);
  });

  it('has only its id before it has set a status', async () => {
    const { sim } = await atWork(undefined);
    const explained = await explainTime(sim.store, SPEC, 0, DUE);
    expect(inWords(explained, String)).toBe(`Its orchestration ${ID} is running.`);
  });

  it('has both in the HTTP API', async () => {
    const bench = await atWork({ note: 'closing' });
    const { json } = await bench.send({ path: 'runs/close-20260101T000100Z', as: 'viewer' });
    expect(json).toMatchObject({ outcome: 'running', orchestration: ID, progress: { note: 'closing' } });
  });
});
