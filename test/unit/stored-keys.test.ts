import { describe, expect, it } from 'vitest';
import type { Token } from '../../src/core/brand';
import { type Control, decodeControl, encodeControl } from '../../src/core/control';
import { recordKey } from '../../src/core/key';
import { type Row, decodeRow, encodeRow } from '../../src/core/row';

const at = (second: number): number => Date.UTC(2026, 0, 31, 3, 0, second);

const row: Row = {
  token: 7 as Token,
  cursor: at(1),
  owed: [
    { outcome: 'collapsed', reason: 'catchUpLatest', from: at(2), through: at(3), count: 2 },
    { outcome: 'expired', reason: 'failedOver', from: at(4), through: at(4), count: 1, request: 'abc' },
  ],
  telling: [{ change: 'recovered', of: recordKey(at(5)), at: at(20), failures: 3, since: at(2), skipped: 1 }],
  run: {
    key: recordKey(at(5)),
    scheduledFor: at(5),
    trigger: 'schedule',
    since: at(6),
    rerunOf: at(4),
    hasInput: true,
  },
  busyUntil: at(7),
  stood: [{ from: at(21), until: at(22) }],
  execution: 'execution-1',
  phase: 'retrying',
  attempt: 3,
  uncountedAttempts: 2,
  started: at(8),
  claimedAt: at(9),
  past: [
    { attempt: 1, token: 5, deployment: 'east', start: at(10), end: at(11), outcome: 'failed' },
    { attempt: 2, token: 6, deployment: 'west', start: at(12), end: undefined, outcome: 'holderLost' },
  ],
  notBefore: at(13),
  itemsLeftAt: at(26),
  incumbent: 'east',
  leaseMs: 30_000,
  keepMs: 86_400_000,
  failures: 4,
  lastFailedKey: recordKey(at(14)),
  failedBefore: 3,
  lastGoodAt: at(15),
  recent: [
    {
      kind: 'run',
      scheduledFor: at(17),
      request: 'abc',
      outcome: 'timedOut',
      latenessMs: 36,
      durationMs: 72,
      waitedMs: 0,
      attempts: 2,
    },
    { kind: 'gap', scheduledFor: at(18), outcome: 'expired', reason: 'catchUpWindow', count: 3 },
  ],
  scheduleSince: at(19),
  revision: 8,
  scheduleHash: 'hash-1',
  manualTaken: 9,
  backfill: {
    ...{ id: 'fill', at: at(21), ran: 5, skipped: 2 },
    aside: {
      ...{ scheduledFor: at(22), since: at(23), attempt: 1, uncountedAttempts: 0, notBefore: at(24) },
      past: [{ attempt: 1, token: 5, deployment: 'east', start: at(10), end: at(11), outcome: 'failed' }],
    },
  },
  forgotten: at(16),
  leftSince: at(25),
};

const control: Control = {
  pauses: [{ by: 'ann', note: 'moving', since: at(1), until: at(2) }],
  cancel: 'a_8230111599999-s',
  manualRuns: [{ number: 1, id: 'abc', time: at(3), origin: { actor: 'ann', channel: 'shell' }, hasInput: true }],
  acknowledgement: {
    by: 'ann',
    note: 'a new key is on its way',
    at: at(4),
    until: at(5),
    run: `${String(1e13 - at(3))}-s`,
    failures: 2,
  },
  backfill: {
    ...{ id: 'fill', from: at(1), through: at(2), order: 'newest', includeSucceeded: true, scheduleHash: 'hash-1' },
    ...{ origin: { actor: 'ann', channel: 'shell' }, at: at(3), stopped: at(4) },
  },
};

// Deployments of other versions read and write the same blobs: a key that is renamed is lost to them.
describe('what is stored', () => {
  it('of a row keeps its keys', () => {
    const stored = encodeRow(row);
    expect(stored).toEqual({
      format: '1',
      token: '7',
      cursor: '2026-01-31T03:00:01.000Z',
      owed: expect.any(String) as unknown,
      notices: expect.any(String) as unknown,
      asked: expect.any(String) as unknown,
      run: `${String(1e13 - at(5))}-s`,
      trigger: 'schedule',
      since: '2026-01-31T03:00:06.000Z',
      busyuntil: '2026-01-31T03:00:07.000Z',
      stood: `[{"from":${String(at(21))},"until":${String(at(22))}}]`,
      execution: 'execution-1',
      phase: 'retrying',
      attempt: '3',
      drained: '2',
      started: '2026-01-31T03:00:08.000Z',
      claimedat: '2026-01-31T03:00:09.000Z',
      past: expect.any(String) as unknown,
      notbefore: '2026-01-31T03:00:13.000Z',
      itemsleft: '2026-01-31T03:00:26.000Z',
      incumbent: 'east',
      leasems: '30000',
      keepms: '86400000',
      failures: '4',
      failed: `${String(1e13 - at(14))}-s`,
      failedbefore: '3',
      succeeded: '2026-01-31T03:00:15.000Z',
      recent: 't.ml1q56g8.10.20.2.abc,xw.ml1q5780.3',
      revision: '8',
      hash: 'hash-1',
      hashsince: '2026-01-31T03:00:19.000Z',
      manualtaken: '9',
      backfill: expect.any(String) as unknown,
      forgotten: '2026-01-31T03:00:16.000Z',
      leftsince: '2026-01-31T03:00:25.000Z',
    });
    expect(JSON.parse(stored['notices'] ?? '')).toEqual([['recovered', recordKey(at(5)), at(20), 3, at(2), 1]]);
    expect(JSON.parse(stored['owed'] ?? '')).toEqual([
      { end: 'collapsed', reason: 'catchUpLatest', from: at(2), through: at(3), count: 2 },
      { end: 'expired', reason: 'failedOver', from: at(4), request: 'abc' },
    ]);
    expect(JSON.parse(stored['past'] ?? '')).toEqual([
      { n: 1, token: 5, by: 'east', start: at(10), end: at(11), outcome: 'failed' },
      { n: 2, token: 6, by: 'west', start: at(12), outcome: 'holderLost' },
    ]);
    expect(JSON.parse(stored['backfill'] ?? '')).toEqual([
      {
        ...{ id: 'fill', at: at(21), ran: 5, skipped: 2 },
        aside: {
          ...{ due: at(22), since: at(23), n: 1, drained: 0, notbefore: at(24) },
          past: [{ n: 1, token: 5, by: 'east', start: at(10), end: at(11), outcome: 'failed' }],
        },
      },
    ]);
    expect(decodeRow(stored)).toEqual(row);
  });

  it('of a control keeps its keys', () => {
    const stored = encodeControl(control);
    expect({
      ...stored,
      pauses: JSON.parse(stored['pauses'] ?? ''),
      manualruns: JSON.parse(stored['manualruns'] ?? ''),
      acknowledged: JSON.parse(stored['acknowledged'] ?? ''),
      backfill: JSON.parse(stored['backfill'] ?? ''),
    }).toEqual({
      format: '1',
      pauses: [{ by: 'ann', note: 'moving', since: at(1), until: at(2) }],
      cancel: 'a_8230111599999-s',
      manualruns: [{ number: 1, id: 'abc', time: at(3), origin: { actor: 'ann', channel: 'shell' }, hasInput: true }],
      acknowledged: [control.acknowledgement],
      backfill: [
        {
          ...{ id: 'fill', from: at(1), through: at(2), order: 'newest', succeeded: true, hash: 'hash-1' },
          ...{ origin: { actor: 'ann', channel: 'shell' }, at: at(3), stopped: at(4) },
        },
      ],
    });
    expect(decodeControl(stored)).toEqual(control);
  });
});
