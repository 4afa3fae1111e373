import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';

function hash(settings: object): string | undefined {
  return loadJobs({ jobs: { job: settings } }).jobsFile.jobs[0]?.scheduleHash;
}

const base = { schedule: '0 3 * * *', timeZone: 'Europe/Lisbon' };

describe('the schedule hash', () => {
  it('is the same in every release', () => {
    expect(hash(base)).toBe('eae778e401e40d1c');
  });

  it.each([
    [{ timeZone: 'Europe/Lisbon', schedule: '0 3 * * *' }],
    [{ ...base, schedule: ' 0  3 *\t* * ' }],
    [{ ...base, schedule: '0 0 3 * * *' }],
    [{ ...base, timeZone: 'europe/lisbon' }],
    [{ ...base, dst: {} }],
    [{ ...base, dst: { overlap: 'first', gap: 'forward' } }],
    [{ ...base, except: [], between: {}, spread: '0s', enabled: true }],
    [
      {
        ...base,
        timeout: '5m',
        retry: { attempts: 9 },
        catchUp: 'all',
        priority: 9,
        handler: 'other',
        input: 1,
        description: 'x',
      },
    ],
  ])('does not see how %j is written, nor what else it says', (settings) => {
    expect(hash(settings)).toBe(hash(base));
  });

  it.each([
    [{ schedule: '@daily' }, { schedule: '0 0 * * *' }],
    [{ schedule: '0 3 * * MON' }, { schedule: '0 3 * * 1' }],
    [{ schedule: '@every 90m' }, { schedule: '@every 1h30m' }],
    [{ schedule: '@at 2030-01-01T00:00:00Z' }, { schedule: '@at 2030-01-01T01:00:00+01:00' }],
    [
      { ...base, except: ['2026-12-25', '2026-12-26'] },
      { ...base, except: ['2026-12-26', { from: '2026-12-25T00:00', to: '2026-12-26T00:00:00' }] },
    ],
  ])('is one for %j and %j', (one, other) => {
    expect(hash(one)).toBe(hash(other));
  });

  it('differs for all that changes when the job is due', () => {
    const all = [
      base,
      { ...base, schedule: '0 4 * * *' },
      { ...base, schedule: '1 3 * * *' },
      { ...base, schedule: '1 0 3 * * *' },
      { ...base, schedule: '0 3-3 * * *' },
      { ...base, schedule: '0 3 1 * *' },
      { ...base, schedule: '0 3 L * *' },
      { ...base, schedule: '0 3 * 1 *' },
      { ...base, schedule: '0 3 * * 1' },
      { ...base, schedule: '0 3 * * 1L' },
      { ...base, schedule: '0 3 * * 1#1' },
      { ...base, schedule: '@every 3h' },
      { ...base, schedule: '@at 2030-01-01T00:00:00Z' },
      { ...base, schedule: '@always' },
      { ...base, schedule: '@manual' },
      { ...base, timeZone: 'UTC' },
      { ...base, dst: { gap: 'skip' } },
      { ...base, dst: { overlap: 'second' } },
      { ...base, between: { from: '2026-01-01' } },
      { ...base, between: { to: '2026-01-01' } },
      { ...base, between: { from: '2026-01-01T00:00:00Z' } },
      { ...base, except: ['2026-01-01'] },
      { ...base, spread: '5m' },
      { ...base, enabled: false },
    ].map(hash);
    expect(new Set(all).size).toBe(all.length);
    for (const one of all) expect(one).toMatch(/^[0-9a-f]{16}$/);
  });
});
