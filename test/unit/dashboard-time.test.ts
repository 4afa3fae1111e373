import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

/** It is code of a browser, whose types this folder lacks. */
interface Time {
  instantIn(text: string, zone: string): number | undefined;
  fullTime(at: number, zone: string): string;
  dayOf(at: number, zone: string): string;
  offsetAt(at: number, zone: string): number;
  exactly(ms: number): string;
  ticksOf(
    scale: { readonly from: number; readonly until: number; readonly width: number },
    zone: string,
    labelWidth: number,
  ): readonly { readonly at: number; readonly label: string }[];
}

let time: Time;

beforeAll(async () => {
  vi.stubGlobal('location', { search: '', hash: '' });
  time = (await import(/* @vite-ignore */ path.join(__dirname, '../../src/dashboard/data/time.ts'))) as Time;
});

afterAll(() => vi.unstubAllGlobals());

describe('a time that a person types', () => {
  it.each([
    ['2026-10-25T01:30', 'Europe/Berlin', '2026-10-24T23:30:00.000Z'],
    ['2026-10-25T03:30', 'Europe/Berlin', '2026-10-25T02:30:00.000Z'],
    ['2026-03-29T03:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-11-01T02:30:15', 'America/New_York', '2026-11-01T07:30:15.000Z'],
    ['2011-12-31T05:00', 'Pacific/Apia', '2011-12-30T15:00:00.000Z'],
  ])('%s in %s', (text, zone, instant) => {
    expect(new Date(time.instantIn(text, zone) ?? NaN).toISOString()).toBe(instant);
  });

  it.each([
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
    ['2026-04-05T02:30', 'Pacific/Auckland', '2026-04-04T13:30:00.000Z'],
    ['2026-04-05T01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
  ])('%s, which the clocks of %s show twice, is in the first pass', (text, zone, instant) => {
    expect(new Date(time.instantIn(text, zone) ?? NaN).toISOString()).toBe(instant);
  });

  it.each([
    ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-03-08T02:30', 'America/New_York', '2026-03-08T07:30:00.000Z'],
    ['2026-09-06T00:30', 'America/Santiago', '2026-09-06T04:30:00.000Z'],
  ])('%s, which the clocks of %s skip, is an hour later', (text, zone, instant) => {
    expect(new Date(time.instantIn(text, zone) ?? NaN).toISOString()).toBe(instant);
  });
});

it('a zone that the browser does not know is shown as UTC, and said to be', () => {
  const at = Date.UTC(2026, 6, 1, 23, 5, 9);
  expect(time.fullTime(at, 'Mars/Olympus')).toBe('Wed, 1 Jul 2026, 23:05:09 UTC');
  expect(time.fullTime(at, 'Europe/Kyiv')).toMatch(/2 Jul 2026, 02:05:09 Europe\/Kyiv$/);
  expect(time.dayOf(at, 'Mars/Olympus')).toBe('01/07/2026');
  expect(time.offsetAt(at, 'Mars/Olympus')).toBe(0);
  expect(time.instantIn('2026-07-01T23:05:09', 'Mars/Olympus')).toBe(at);
});

describe('the labels below a picture', () => {
  const HOUR = 3_600_000;
  const labels = (from: string, hours: number, zone: string, width: number): readonly string[] => {
    const at = Date.parse(from);
    return time.ticksOf({ from: at, until: at + hours * HOUR, width }, zone, 90).map(({ label }) => label);
  };

  it('are round times of the zone, also after its clocks have changed', () => {
    const forward = labels('2026-03-28T20:00:00Z', 24, 'Europe/Berlin', 720);
    expect(forward).toEqual(['21:00', '29 Mar 00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00']);
    const back = labels('2026-10-24T20:00:00Z', 24, 'Europe/Berlin', 720);
    expect(back).toEqual(['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00']);
    expect(labels('2026-10-25T00:00:00Z', 3, 'Europe/Berlin', 400)).toEqual(['02:00', '02:00', '03:00', '04:00']);
    const days = labels('2026-03-27T12:00:00Z', 96, 'Europe/Berlin', 450);
    expect(days).toEqual(['00:00', '29 Mar 00:00', '30 Mar 00:00', '31 Mar 00:00']);
  });
});

it.each([
  [0, '0 s'],
  [45_000, '45 s'],
  [1_500, '1.5 s'],
  [3_630_000, '1 h 30 s'],
  [95_400_000, '1 d 2 h 30 min'],
  [90 * 86_400_000, '90 d'],
])('a setting of %d ms is shown as %s', (ms, text) => {
  expect(time.exactly(ms)).toBe(text);
});

it('the settings of a job are shown with all their units', async () => {
  const { SettingsInWords } = (await import(
    /* @vite-ignore */ path.join(__dirname, '../../src/dashboard/parts/job-settings.tsx')
  )) as { SettingsInWords(props: object): unknown };
  const settings = {
    ...{ kind: 'timed', handler: 'a', call: null, catchUp: 'latest', catchUpWindowMs: 3_630_000, overlap: 'skip' },
    ...{ requires: [], requireWithinMs: null, priority: 5, offsetMs: 0, timeoutMs: 600_000, stallAfterMs: null },
    ...{ graceMs: 5_000, leaseMs: 30_000, keepMs: 7_776_000_000, alertAfterMs: 95_400_000, pauseAfterFailures: null },
    retry: { attempts: 3, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
  };
  const drawn = JSON.stringify(SettingsInWords({ settings }));
  expect(drawn).toContain('the latest missed due time runs, for up to 1 h 30 s.');
  expect(drawn).toContain('It is overdue after 1 d 2 h 30 min without a success.');
  expect(drawn).toContain('An attempt may take 10 min, and 5 s more to stop.');
});
