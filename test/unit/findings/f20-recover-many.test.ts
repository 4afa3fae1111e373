import { expect, it } from 'vitest';
import { NO_CONTROL } from '../../../src/core/control';
import { recordKey } from '../../../src/core/key';
import { recover } from '../../../src/core/recover';
import { newRow } from '../../../src/core/row';

// `recordsOf` lists all records of a @manual or @always job that is not in the file (none is due before its cursor):
// a run a minute for the 90 days that are kept is 130,000.
it('a job with very many records can be recovered', () => {
  const T0 = Date.UTC(2026, 0, 1);
  const records = Array.from({ length: 130_000 }, (_, index) => {
    const at = T0 + index * 60_000;
    return { key: recordKey(at, 'r'), scheduledFor: at, through: at, request: 'r', state: 'final' as const, token: index };
  });
  const wreck = {
    spec: undefined, row: newRow(T0, 0, 'h'), control: NO_CONTROL, records, runRecord: 'none' as const, recordedRequests: new Set<string>(), now: T0 + 1e10,
  };
  expect(recover(wreck, { until: T0 + 1e10, raiseBy: 1, runs: 'goOn' }).row.token).toBe(130_000);
});
