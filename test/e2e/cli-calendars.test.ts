import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ended } from '../support/cli-build';
import { type CliFleet, cliFleet } from '../support/cli-fleet';

const JOB = 'payroll';
const DAY = 86_400_000;
const date = (at: number): string => new Date(at).toISOString().slice(0, 10);
const SOON = Date.now() + 30 * DAY;
const ICAL = [
  ...['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'SUMMARY:Christmas Day', 'DTSTART;VALUE=DATE:20251225', 'END:VEVENT'],
  ...['END:VCALENDAR', ''],
].join('\r\n');

let fleet: CliFleet;
const run = (...args: readonly string[]): Promise<Ended> => fleet.folder.run(args, fleet.env());

beforeAll(async () => {
  fleet = await cliFleet();
  const { folder } = fleet;
  folder.write('public.ics', ICAL);
  folder.write('jobs.json', {
    calendars: {
      public: [{ file: 'public.ics' }],
      company: [{ from: date(SOON), to: date(SOON + DAY), name: 'Picnic' }],
    },
    jobs: {
      [JOB]: {
        schedule: '0 3 * * *',
        except: [
          { calendar: 'public' },
          { calendar: 'company' },
          { from: '2026-01-05', to: '2026-01-06', name: 'Stocktaking' },
        ],
      },
    },
  });
});

afterAll(() => fleet.remove());

describe.concurrent('a time that a calendar excludes', () => {
  it('is explained by "why" with the calendar and its entry', async () => {
    const { code, stdout } = await run('why', JOB, '2025-12-25T03:00:00Z');
    expect(code).toBe(0);
    expect(stdout).toContain('notDue (excluded)');
    expect(stdout).toMatch(/the calendar "public"[^]*Christmas Day/);
    const json = await run('why', JOB, '2026-01-05T03:00:00Z', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ due: false, outcome: 'notDue', reason: 'excluded' },
      excludedBy: { setting: 'except', calendar: null, entry: expect.stringContaining('Stocktaking') as unknown },
    });
  });

  it('is listed by "plan --excluded", in a terminal and as a document', async () => {
    const args = ['plan', '--excluded', '--from', '2025-12-20', '--to', '2026-01-10'];
    const { code, stdout } = await run(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /: 2 excluded\n[^]*payroll: public: [^\n]*Christmas Day[^]*payroll: except: [^\n]*Stocktaking/,
    );
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(JSON.parse((await run(...args, '--json')).stdout)).toMatchObject([
      { job: JOB, scheduledFor: '2025-12-25T03:00:00.000Z', setting: 'except', calendar: 'public' },
      { job: JOB, scheduledFor: '2026-01-05T03:00:00.000Z', setting: 'except', calendar: null },
    ]);
  });
});

describe('a calendar that ends', () => {
  it('is a warning of doctor, with its last day', async () => {
    const { stdout } = await run('doctor', '--json');
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly check: string }[] };
    const found = findings.filter(({ check }) => check === 'calendars');
    expect(found).toMatchObject([
      { status: 'warning', subject: expect.stringContaining('calendars.') as unknown },
      { status: 'warning', subject: expect.stringContaining('calendars.') as unknown },
    ]);
    expect(JSON.stringify(found)).toMatch(/2025-12-25/);
    expect(JSON.stringify(found)).toContain(date(SOON));
  });
});

describe('a jobs file with warnings', () => {
  it('has them in doctor too, each with its place', async () => {
    const input = { password: 'cO2!kd83-qpzM1xw', text: 'x'.repeat(40_000) };
    const clocks = { schedule: '30 2 * * *', timeZone: 'Europe/Paris' };
    fleet.folder.write('warned.json', { jobs: { exports: { schedule: '0 4 * * *', input }, clocks } });
    const validated = JSON.parse((await run('validate', '--file', 'warned.json', '--json')).stdout) as {
      readonly warnings: readonly { readonly path: string; readonly place: { readonly line: number } }[];
    };
    expect(validated.warnings.map(({ path }) => path).toSorted()).toEqual([
      ...['jobs.clocks.schedule', 'jobs.exports.input', 'jobs.exports.input.password'],
    ]);
    const { stdout } = await run('doctor', '--file', 'warned.json', '--json');
    const { findings } = JSON.parse(stdout) as {
      readonly findings: readonly { readonly check: string; readonly status: string; readonly subject: string }[];
    };
    const found = findings.filter(({ check, status }) => check === 'file' && status === 'warning');
    expect(found).toMatchObject(
      validated.warnings.map(({ path }) => ({
        ...{ subject: path, message: expect.stringMatching(/^warned\.json:\d+:\d+: /) as unknown },
      })),
    );
    expect(stdout).not.toContain(input.password);
  });
});
