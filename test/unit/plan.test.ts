import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calendarText, changesText, leftOut, planText } from '../../src/cli/show/plan';
import { utc } from '../../src/cli/time';
import type { JobInFile } from '../../src/config/job-in-file';
import { loadJobs } from '../../src/config/load';
import type { JobsFile, JobSpec } from '../../src/core/job';
import { clockChanges, clockNote } from '../../src/core/schedule/clock-changes';
import { compareJobs } from '../../src/operator/plan/compare';
import { planOf, startsIn } from '../../src/operator/plan/plan';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FROM = Date.UTC(2026, 0, 1);

function fileOf(jobs: Readonly<Record<string, JobInFile>>, revision = 0): JobsFile {
  return loadJobs({ revision, jobs }).jobsFile;
}

function specOf(settings: JobInFile): JobSpec {
  const [spec] = fileOf({ job: settings }).jobs;
  if (spec === undefined) throw new Error('no job');
  return spec;
}

const paris = (schedule: string, more: Partial<JobInFile> = {}): JobSpec =>
  specOf({ schedule, timeZone: 'Europe/Paris', ...more });

describe('the changes of clocks that touch a job', () => {
  const [from, to] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 11, 31)];
  const found = (spec: JobSpec): string[] =>
    clockChanges(spec, from, to).map((change) => `${change.wall} ${change.effect} ${change.due.length}`);

  it.each([
    ['30 2 * * *', {}, ['2026-03-29 02:30 moved 1', '2026-10-25 02:30 first 1']],
    ['30 2 * * *', { dst: { gap: 'skip' } }, ['2026-03-29 02:30 dropped 0', '2026-10-25 02:30 first 1']],
    ['30 2 * * *', { dst: { overlap: 'second' } }, ['2026-03-29 02:30 moved 1', '2026-10-25 02:30 second 1']],
    ['30 2 * * *', { dst: { overlap: 'both' } }, ['2026-03-29 02:30 moved 1', '2026-10-25 02:30 both 2']],
    ['0 2,3 * * *', {}, ['2026-03-29 02:00 merged 1', '2026-10-25 02:00 first 1']],
    // It follows elapsed time.
    ['30 1-3 * * *', {}, ['2026-03-29 02:30 dropped 0', '2026-10-25 02:30 both 2']],
    ['*/5 * * * *', {}, []],
    ['0 4 * * *', {}, []],
    ['@every 90s', {}, []],
    ['@always', {}, []],
    // Its time is over, or has not come.
    ['30 2 * * *', { between: { to: '2026-02-01' } }, []],
    ['30 2 * * *', { between: { from: '2027-02-01' } }, []],
  ] as const)('%s %j', (schedule, more, expected) => {
    expect(found(paris(schedule, more))).toEqual(expected);
  });

  it('are none in UTC, and none where the repeated time is excepted', () => {
    expect(found(specOf({ schedule: '30 2 * * *' }))).toEqual([]);
    const off = paris('30 2 * * *', { except: ['2026-10-25'] });
    expect(found(off)).toEqual(['2026-03-29 02:30 moved 1']);
  });

  it('have a note each', () => {
    const notes = ['moved', 'merged', 'dropped', 'first', 'second', 'both'].map((effect) =>
      clockNote({ at: 0, wall: '2026-03-29 02:30', due: [], effect: effect as 'moved' }),
    );
    expect(new Set(notes).size).toBe(6);
    for (const note of notes) expect(note).toContain('02:30');
  });
});

describe('the starts of a span', () => {
  it('are those of every timetable, in order', () => {
    const schedules = ['* * * * *', '*/7 * * * *', '30 2 * * *', '@every 90s', '0 0 1 1 *', '@manual', '@always'];
    const job = fc.record({ schedule: fc.constantFrom(...schedules), spread: fc.constantFrom('0s', '5m', '2h') });
    fc.assert(
      fc.property(fc.array(job, { maxLength: 6 }), fc.integer({ min: 1, max: 300 }), (jobs, minutes) => {
        const to = FROM + minutes * 60_000;
        const { jobs: specs } = fileOf(Object.fromEntries(jobs.map((settings, index) => [`j${index}`, settings])));
        const starts = [...startsIn(specs, FROM, to)];
        const expected = specs.flatMap((spec) => {
          const own: [number, string][] = [];
          let due = spec.timetable.next(FROM - spec.offsetMs - 1);
          while (due !== undefined && due + spec.offsetMs < to) {
            own.push([due + spec.offsetMs, spec.name]);
            due = spec.timetable.next(due);
          }
          return own;
        });
        expected.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
        expect(starts.map(({ runsAt, spec }) => [runsAt, spec.name])).toEqual(expected);
        for (const { runsAt, scheduledFor, spec } of starts) expect(runsAt - scheduledFor).toBe(spec.offsetMs);
      }),
      { numRuns: 60 },
    );
  });

  it('has no job that is disabled', () => {
    const { jobs } = fileOf({ off: { schedule: '* * * * *', enabled: false }, on: { schedule: '* * * * *' } });
    expect([...startsIn(jobs, FROM, FROM + 60_000)].map(({ spec }) => spec.name)).toEqual(['on']);
  });
});

describe('a plan', () => {
  const many = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `job-${index + 10}`,
      { schedule: index === 0 ? '* * * * *' : '0 * * * *' },
    ]),
  );

  it('notes minutes in which many jobs start, and names the fullest ones', () => {
    const plan = planOf(fileOf(many).jobs, { from: FROM, to: FROM + 2 * HOUR, limit: 1_000 });
    expect(plan.busiest).toEqual([
      { minute: FROM, jobs: 12, groups: [] },
      { minute: FROM + HOUR, jobs: 12, groups: [] },
    ]);
    expect(plan.starts.filter(({ notes }) => notes.includes('12 jobs start in this minute'))).toHaveLength(24);
    expect(plan.starts.find(({ runsAt }) => runsAt === FROM + 60_000)?.notes).toEqual([]);
    expect(plan).toMatchObject({ counted: 2 * (60 + 11), countedTo: FROM + 2 * HOUR });
  });

  it('knows how many jobs of a group run at a time, where more of them start', () => {
    const inDb = { schedule: '0 * * * *', group: 'db' };
    const { jobs } = loadJobs({
      revision: 0,
      groups: { db: { maxParallel: 2 }, mail: { maxParallel: 2 } },
      jobs: {
        ...{ a: inDb, b: inDb, c: inDb, alone: { schedule: '0 * * * *' } },
        ...{ d: { schedule: '0,30 * * * *', group: 'mail' }, e: { schedule: '0,30 * * * *', group: 'mail' } },
      },
    }).jobsFile;
    const span = { from: FROM, to: FROM + HOUR };
    const plan = planOf(jobs, { ...span, limit: 100 });
    expect(plan.busiest).toEqual([
      { minute: FROM, jobs: 6, groups: [{ name: 'db', maxParallel: 2, jobs: 3 }] },
      { minute: FROM + HOUR / 2, jobs: 2, groups: [] },
    ]);
    const note = '3 jobs of group "db", which run 2 at a time, start in this minute';
    expect(plan.starts.filter(({ notes }) => notes.includes(note)).map(({ spec }) => spec.name)).toEqual([
      ...['a', 'b', 'c'],
    ]);
    expect(plan.starts.filter(({ notes }) => notes.length > 0)).toHaveLength(3);
    const lines = planText(plan, { ...span, specs: jobs }, utc);
    const [first, second] = lines.slice(lines.findIndex((line) => line.includes('Fullest minutes')) + 1);
    expect(first).toBe('2026-01-01T00:00:00Z  6 jobs start; 3 of group "db", which run 2 at a time');
    expect(second).toBe('2026-01-01T00:30:00Z  2 jobs start');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('counts a job once for each minute, however often it starts', () => {
    const { jobs } = fileOf({ a: { schedule: '* * * * * *' }, b: { schedule: '* * * * *' } });
    expect(planOf(jobs, { from: FROM, to: FROM + 60_000, limit: 1 }).busiest).toEqual([
      { minute: FROM, jobs: 2, groups: [] },
    ]);
  });

  it('lists and counts no more than its limits, in whole minutes, and says so', () => {
    const span = { from: FROM, to: FROM + 365 * DAY, limit: 5, mostCounted: 100 };
    const plan = planOf(fileOf(many).jobs, span);
    // 12 in the first minute, one in each of the next 59, and 12 at one o'clock: the next minute passes 100.
    expect(plan.starts).toHaveLength(5);
    expect(plan.counted).toBe(100);
    expect(plan.countedTo).toBe(FROM + 78 * 60_000);
    expect(leftOut(plan, span.to, utc)).toEqual([
      'The list ends at 2026-01-01T00:00:00Z; 95 later starts are left out: see --to and --limit.',
      'Nothing from 2026-01-01T01:18:00Z on was counted: see --to.',
    ]);
  });

  it('notes a change of clocks at the due times that stand for it', () => {
    const spec = paris('30 2 * * *');
    const from = Date.UTC(2026, 2, 28);
    const { starts, touched } = planOf([spec], { from, to: from + 3 * DAY, limit: 10 });
    expect(starts.map(({ notes }) => notes.length)).toEqual([0, 1, 0]);
    expect(starts[1]?.notes[0]).toContain('the clocks skip 02:30');
    expect(touched).toHaveLength(1);
  });

  it('fits into 80 columns', () => {
    const name = 'x'.repeat(60);
    const jobs = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `${name}-${index + 10}`,
        { schedule: '30 2 * * *', timeZone: 'America/Argentina/ComodRivadavia', spread: '10h' },
      ]),
    );
    const { jobs: specs } = fileOf({
      ...jobs,
      leader: { schedule: '@always' },
      [`${name}-z`]: { schedule: '30 2 * * *', timeZone: 'Europe/Paris' },
    });
    const span = { from: Date.UTC(2026, 2, 28), to: Date.UTC(2026, 2, 31), limit: 7 };
    const lines = planText(planOf(specs, span), { ...span, specs }, utc);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.join('\n')).toContain('Not planned: 1 always running');
    expect(lines.at(-1)).toContain('clocks skip 02:30');
  });
});

describe('the calendar file', () => {
  const spec = specOf({ schedule: '0 3 * * *', description: 'Rollup; of all, every\\thing\nnext\u0007 line' });
  const text = calendarText(planOf([spec], { from: FROM, to: FROM + 2 * DAY, limit: 10 }), FROM);

  it('has an event for each start, with its own id', () => {
    expect(text.split('\r\n').filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(2);
    expect(text).toContain('UID:job-20260101T030000Z@cronlease\r\n');
    expect(text).toContain('DTSTART:20260102T030000Z\r\n');
    expect(text.startsWith('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n')).toBe(true);
    expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
  });

  it('escapes texts', () => {
    expect(text).toContain('Rollup\\; of all\\, every\\\\thing\\nnext');
    expect(text).not.toContain('\u0007');
  });

  it('folds lines at 75 octets, and no character in two', () => {
    const long = specOf({ schedule: '0 3 * * *', description: 'Übergröße € 😀 '.repeat(30) });
    const folded = calendarText(planOf([long], { from: FROM, to: FROM + DAY, limit: 10 }), FROM);
    for (const line of folded.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    expect(folded.replaceAll('\r\n ', '')).toContain('Übergröße € 😀 '.repeat(30));
    expect(folded).not.toContain('\uFFFD');
  });
});

describe('the comparison of two files', () => {
  const base = { stays: { schedule: '@daily' }, moves: { schedule: '0 3 * * *' }, goes: { schedule: '@hourly' } };
  const at = Date.UTC(2026, 0, 1, 12);
  const changeOf = (before: JobInFile | undefined, after: JobInFile | undefined, revisions = [0, 0]) => {
    const [from, to] = [before && { job: before }, after && { job: after }];
    const [change] = compareJobs(fileOf(from ?? {}, revisions[0]), fileOf(to ?? {}, revisions[1]), at);
    return change;
  };

  it('finds what appears, vanishes and changes, with due times before and after', () => {
    const after = { stays: base.stays, moves: { schedule: '0 4 * * *' }, comes: { schedule: '@hourly' } };
    const changes = compareJobs(fileOf(base), fileOf(after), at);
    expect(changes.map(({ job, change, settings }) => [job, change, settings])).toEqual([
      ['comes', 'added', []],
      ['goes', 'removed', []],
      ['moves', 'changed', ['schedule']],
    ]);
    const moves = changes.at(-1);
    expect(moves?.before?.dueTimes[0]).toBe(Date.UTC(2026, 0, 2, 3));
    expect(moves?.after?.dueTimes[0]).toBe(Date.UTC(2026, 0, 2, 4));
    expect(moves?.after?.dueTimes).toHaveLength(5);
  });

  it('finds nothing in files that mean the same', () => {
    const same = { stays: { schedule: '0  0 * * *', retry: { attempts: 3 } }, moves: base.moves, goes: base.goes };
    expect(compareJobs(fileOf(base), fileOf(same, 5), at).map(({ settings }) => settings)).toEqual([['schedule']]);
    expect(compareJobs(fileOf(base), fileOf(base, 5), at)).toEqual([]);
  });

  it.each([
    [undefined, { schedule: '@daily' }, 'Nothing from before the deployment is due'],
    [undefined, { schedule: '@manual' }, 'on request only'],
    [undefined, { schedule: '@always' }, 'first term'],
    [undefined, { schedule: '@daily', enabled: false }, 'no due time runs'],
    [undefined, { schedule: '@at 2026-01-01T11:30:00Z' }, 'it runs at once'],
    [undefined, { schedule: '@at 2026-01-01T11:30:00Z', catchUp: 'none' }, 'recorded as expired'],
    [undefined, { schedule: '@at 2026-01-01T11:59:20Z', catchUp: 'none' }, 'it runs at once'],
    [undefined, { schedule: '@at 2026-01-01T11:59:05Z', catchUp: 'none' }, 'recorded as expired'],
    [undefined, { schedule: '@at 2026-01-01T10:30:00Z' }, 'recorded as expired'],
    [undefined, { schedule: '@at 2026-01-01T12:30:00Z' }, 'Nothing from before the deployment is due'],
    [{ schedule: '@daily' }, undefined, 'cronlease forget job'],
    [{ schedule: '@daily' }, { schedule: '@hourly' }, 'The new schedule counts from the deployment. Old due times'],
    [{ schedule: '@daily' }, { schedule: '@daily', enabled: false }, 'It is disabled: no due time runs. Old'],
    [{ schedule: '@daily' }, { schedule: '@daily', catchUp: 'all' }, 'run in turn, if they are no older than 1h'],
    [{ schedule: '@daily' }, { schedule: '@daily', catchUp: 'none' }, 'by more than 50s expire'],
    [{ schedule: '@daily' }, { schedule: '@daily', catchUp: 'none', lease: '60s' }, 'by more than 1m20s expire'],
    [{ schedule: '@daily' }, { schedule: '@daily', timeout: '1m' }, 'the newest runs, if it is no older than 1h'],
    [{ schedule: '@manual' }, { schedule: '@manual', timeout: '1m' }, 'do not change'],
  ] as const)('%j to %j: says what the deployment does', (before, after, sentence) => {
    expect(changeOf(before, after)?.deploy).toContain(sentence);
  });

  it('names settings that decide due times, also where the file has them in other members', () => {
    expect(changeOf({ schedule: '@daily' }, { schedule: '@daily', except: ['2026-02-01'] })?.settings).toEqual([
      'dst, between, except or spread',
    ]);
    expect(changeOf({ schedule: '@daily' }, { schedule: '@daily', catchUpWindow: '2h' })?.settings).toEqual([
      'catchUpWindow',
    ]);
  });

  it('warns of a lower or the same revision with another schedule', () => {
    expect(changeOf({ schedule: '@daily' }, { schedule: '@hourly' }, [5, 4])?.deploy).toContain('lower');
    expect(changeOf({ schedule: '@daily' }, { schedule: '@hourly' }, [5, 5])?.deploy).not.toContain('lower');
    expect(changeOf({ schedule: '@daily' }, { schedule: '@hourly' }, [5, 5])?.deploy).toContain(
      'the same as before (5): unless the package sets a higher one, what was due since the last run may run at once',
    );
    expect(changeOf({ schedule: '@daily' }, { schedule: '@hourly' }, [5, 6])?.deploy).not.toContain('revision');
  });

  it('names the changes of clocks of the next year', () => {
    const change = changeOf(undefined, { schedule: '30 2 * * *', timeZone: 'Europe/Paris' });
    expect(change?.clocks.map(({ wall }) => wall)).toEqual(['2026-03-29 02:30', '2026-10-25 02:30']);
  });

  it('fits into 80 columns, and leaves out what is too much', () => {
    const names = Array.from({ length: 20 }, (_, index) => `${'x'.repeat(60)}-${index + 10}`);
    const file = fileOf(
      Object.fromEntries(
        names.map((name) => [name, { schedule: '30 2 * * *', timeZone: 'Europe/Paris', spread: '1h' }]),
      ),
    );
    const changes = compareJobs(fileOf(base), file, at);
    const lines = changesText(changes, changes.slice(0, 8), 'main', utc);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines[0]).toBe('Since main: 20 added, 0 changed, 3 removed');
    expect(lines.at(-1)).toBe('and 15 more: see --limit');
    expect(changesText([], [], 'main', utc)).toEqual(['No job is added, changed or removed since main.']);
  });
});
