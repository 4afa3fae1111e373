import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { ATTEMPT_LOG, createLogBuffer, lineOf } from '../../src/core/log-entry';
import { redactNothing } from '../../src/core/redact';
import { ForeignRecordError, parseRecord, storeRecord, stretchRecord } from '../../src/core/record';
import { explainTime } from '../../src/operator/views/explain';
import { BODY_BYTES } from '../../src/stores/limits';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const MINUTE = 60_000;
const A = 'a' as JobName;
const KEY = recordKey(T0 + MINUTE);

const { record: RECORD } = stretchRecord(A, {
  ...{ outcome: 'expired', reason: 'catchUpNone', from: T0 + MINUTE, through: T0 + MINUTE, count: 1 },
});

describe('a record that cannot be read', () => {
  it.each([
    ['is not JSON', '{"state":'],
    ['is larger than any of ours', ' '.repeat(BODY_BYTES + 1)],
    ['is nested without end', '['.repeat(1_000_000)],
    ['has a time that is none', JSON.stringify({ ...RECORD, endedAt: 'soon' })],
  ])('%s: its run is settled, and never taken over', async (_what, body) => {
    const job = jobSpec('a', '* * * * *', { pauseAfterFailures: 1 });
    let calls = 0;
    const sim = rivalTicks({
      jobs: [job],
      deployments: 2,
      handler: async (_context, on) => {
        calls += 1;
        if (calls > 1) return;
        on.kill();
        await new Promise(() => undefined);
      },
    });
    await sim.clock.advance(MINUTE + 5_000);
    expect(calls).toBe(1);
    expect(await sim.store.createRecord(A, KEY, { body, summary: { state: 'x' } })).toMatchObject({ kind: 'created' });
    const answers = async (...times: readonly number[]): Promise<readonly string[]> => {
      const asked = times.map(async (time) => explainTime(sim.store, job, 0, time));
      return (await Promise.all(asked)).map(({ outcome, reason }) => `${outcome} (${reason})`);
    };
    expect(await answers(T0 + MINUTE, T0 + 9 * MINUTE)).toEqual(['failed (outcomeUnknown)', 'future (notYetDue)']);
    await sim.clock.advance(4 * MINUTE);

    expect(sim.calls.filter(({ scheduledFor }) => scheduledFor === T0 + MINUTE)).toHaveLength(1);
    expect(sim.calls.at(-1)?.scheduledFor).toBe(T0 + 5 * MINUTE);
    const ends = sim.events.filter(({ scheduledFor, event }) => scheduledFor === T0 + MINUTE && event === 'failed');
    expect(ends).toMatchObject([{ reason: 'outcomeUnknown', job: 'a' }]);
    expect(await sim.row('a')).toMatchObject({ failures: 0, phase: 'running' });
    // What stands there stays as it is.
    await expect(sim.records('a')).rejects.toThrow(ForeignRecordError);
    const why = await explainTime(sim.store, job, 0, T0 + MINUTE);
    expect(why).toMatchObject({ due: true, outcome: 'failed', reason: 'outcomeUnknown' });
  });

  it('ends nothing while its run is held', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
    await sim.clock.advance(MINUTE / 2);
    await sim.store.createRecord(A, KEY, { body: '?', summary: { state: 'x' } });
    await sim.clock.advance(4 * MINUTE);
    // The handler ran once; how it ended could not be written, and no one runs it again.
    expect(sim.calls.filter(({ scheduledFor }) => scheduledFor === T0 + MINUTE)).toHaveLength(1);
    expect(sim.calls.length).toBeGreaterThanOrEqual(3);
    expect(sim.events.filter(({ reason }) => reason === 'outcomeUnknown')).toHaveLength(1);
  });
});

describe('a ledger record', () => {
  const attempt = { attempt: 1, token: 1, deployment: 'x', startedAt: RECORD.scheduledFor, endedAt: null };
  const whole = { ...RECORD, attempts: [{ ...attempt, outcome: 'failed', error: { name: 'E', message: 'm' } }] };
  const parse = (value: unknown) => parseRecord(A, KEY, JSON.stringify(value));

  it('is read back as it was stored', () => {
    expect(parseRecord(A, KEY, storeRecord(RECORD).body)).toStrictEqual(RECORD);
    expect(parse({ ...whole, ofNextYear: [] })).toMatchObject(whole);
  });

  it('is read back whatever its handler has logged', () => {
    const buffer = createLogBuffer({ attempt: 1 }, ATTEMPT_LOG);
    const lines = ['\\"['.repeat(2_700), ...Array.from({ length: 25 }, () => '['.repeat(8_000))];
    for (const line of lines) buffer.add(T0, 'info', lineOf(line, redactNothing));
    buffer.end();
    const record = { ...whole, log: { kept: 'inline', entries: buffer.take(redactNothing) } } as const;
    expect(parseRecord(A, KEY, storeRecord(record as never).body)).toStrictEqual(record);
  });

  it.each([
    [{ scheduledFor: 'x' }],
    [{ scheduledFor: '+275760-09-13T00:00:00.000Z' }],
    [{ endedAt: 5 }],
    [{ latenessMs: 'late' }],
    [{ outcome: {} }],
    [{ through: [] }],
    [{ attempts: [null] }],
    [{ attempts: [{ ...attempt, outcome: 'failed', error: null, waitedForConcurrencyMs: 'long' }] }],
    [{ attempts: [{ ...attempt, outcome: 'failed', error: 'E' }] }],
    [{ attempts: [{ ...attempt, outcome: 'failed', deployment: 7, error: null }] }],
  ])('is none with %j', (changes) => {
    expect(() => parse({ ...whole, ...changes })).toThrow(ForeignRecordError);
  });
});
