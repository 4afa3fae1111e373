import { expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { type Control, NO_CONTROL, encodeControl } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { encodeRow, newRow } from '../../src/core/row';
import type { Trial } from '../../src/lease/trial';
import { diagnose } from '../../src/operator/doctor/diagnose';
import type { Finding } from '../../src/operator/doctor/finding';
import { remediesFor } from '../../src/stores/azure-blob/trial';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 10, 12);
const clock = settableClock(NOW);
const TRIAL: Trial = {
  ...{ container: 'there', failures: new Map(), untried: [], versioned: false },
  nouns: { object: 'blob', place: 'container' },
  ...{ answeredInMs: 1, skewMs: 0, left: undefined },
  remedies: remediesFor('https://acme.blob.core.windows.net/cronlease', undefined),
};
const alertAfterMs = 26 * HOUR;

interface Scene {
  readonly job?: Partial<JobSpec>;
  readonly control?: Control;
  /** When the job was first seen. */
  readonly seen?: number;
  /** Each due hours ago, and how it ended 10 minutes later. */
  readonly runs?: readonly (readonly [hoursAgo: number, outcome: string])[];
}

async function found({ job, control, seen = NOW - 100 * HOUR, runs = [] }: Scene): Promise<readonly Finding[]> {
  const store = memoryService(clock).open();
  const spec = jobSpec('a', '@daily', { alertAfterMs, ...job });
  await store.createRow(spec.name, encodeRow(newRow(seen, 0, spec.scheduleHash)));
  if (control !== undefined) await store.writeControl(spec.name, encodeControl(control), undefined);
  for (const [hoursAgo, outcome] of runs) {
    const due = NOW - hoursAgo * HOUR;
    const ended = new Date(due + 600_000).toISOString();
    await store.createRecord('a' as JobName, recordKey(due), { body: '{}', summary: { outcome, ended } });
  }
  const file = { kind: 'read', source: 'jobs.json', file: { revision: 0, jobs: [spec] } } as const;
  return (await diagnose(store, [{ location: store.location, trial: TRIAL }], file)).filter(
    ({ check }) => check === 'overdue',
  );
}

it('doctor tells the last success of each job with "alertAfter"', async () => {
  const runs = [
    [2, 'failed'],
    [25, 'succeeded'],
    [49, 'succeeded'],
  ] as const;
  expect(await found({ runs })).toEqual([
    {
      ...{ check: 'overdue', status: 'ok', subject: 'a', remedy: null },
      message: 'last succeeded 1d50m ago, at 2026-01-09T11:10:00.000Z; "alertAfter" is 1d2h',
    },
  ]);
});

it('doctor warns of one that is overdue, and does not say no for it', async () => {
  expect(await found({ runs: [[49, 'succeeded']] })).toMatchObject([
    {
      ...{ check: 'overdue', status: 'warning', subject: 'a' },
      message: 'last succeeded 2d50m ago, at 2026-01-08T11:10:00.000Z: overdue for 22h50m, "alertAfter" is 1d2h',
      remedy: expect.stringContaining('cronlease runs a') as unknown,
    },
  ]);
  expect(await found({ runs: [[49, 'failed']] })).toMatchObject([
    { status: 'warning', message: expect.stringMatching(/^no success is in its newest records: overdue/) as unknown },
  ]);
});

it('doctor excuses jobs that are new, paused or disabled, or have no "alertAfter"', async () => {
  const pause = { by: 'ada', note: 'x', since: NOW - HOUR, until: undefined };
  const runs = [[49, 'succeeded']] as const;
  expect(await found({ seen: NOW - HOUR })).toMatchObject([{ status: 'ok' }]);
  expect(await found({ runs, control: { ...NO_CONTROL, pauses: [pause] } })).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/, and it is paused$/) as unknown },
  ]);
  expect(await found({ runs, job: { enabled: false } })).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/, and it is disabled$/) as unknown },
  ]);
  expect(await found({ runs, job: { alertAfterMs: undefined } })).toEqual([]);
});
