import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { devJobs } from '../../src/cli/dev/dev-jobs';
import { excludedText } from '../../src/cli/show/plan';
import { utc } from '../../src/cli/time';
import { ConfigError, formatIssue } from '../../src/config/config-error';
import { loadJobs } from '../../src/config/load';
import type { JobSpec } from '../../src/core/job';
import { excludedIn } from '../../src/operator/plan/plan';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-calendars-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DAY = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const ICS = (date: string): string =>
  `BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:${date}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;

function write(name: string, content: unknown): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

function specOf(settings: object, calendars?: object): JobSpec {
  const [spec] = loadJobs({ ...(calendars && { calendars }), jobs: { job: { schedule: '@daily', ...settings } } })
    .jobsFile.jobs;
  if (spec === undefined) throw new Error('no job');
  return spec;
}

/** The days in a span on which the job is not due. */
function daysOff({ timetable }: JobSpec, from = FROM, to = FROM + 3 * 365 * DAY): string[] {
  const off: string[] = [];
  for (let day = from; day < to; day += DAY) {
    if (timetable.next(day - 1) !== day) off.push(new Date(day).toISOString().slice(0, 10));
    if ((timetable.previous(day + 1) === day) !== (timetable.next(day - 1) === day)) throw new Error('next ≠ previous');
  }
  return off;
}

function problemsOf(file: object | string): string[] {
  try {
    loadJobs(file, { baseFolder: folder });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.errors.map(formatIssue);
  }
}

const USE = { except: [{ calendar: 'holidays' }] };

describe('a calendar', () => {
  it('excludes dates, spans and yearly days', () => {
    const holidays = [
      '2026-03-05',
      { from: '2026-08-01', to: '2026-08-03' },
      { yearly: '12-31', days: 2 },
      { yearly: '02-29' },
      { yearly: '06-10', since: 2027, until: 2027 },
    ];
    expect(daysOff(specOf(USE, { holidays }))).toEqual([
      // The day that began in 2025.
      '2026-01-01',
      '2026-03-05',
      '2026-08-01',
      '2026-08-02',
      '2026-12-31',
      '2027-01-01',
      '2027-06-10',
      '2027-12-31',
      '2028-01-01',
      '2028-02-29',
    ]);
  });

  it('excludes days on the clocks of each job that uses it', () => {
    const calendars = { holidays: ['2026-03-29', { yearly: '12-25' }] };
    const hourly = { ...USE, schedule: '0 * * * *' };
    const off = (timeZone: string, from: number): number[] => {
      const { timetable } = specOf({ ...hourly, timeZone }, calendars);
      const start = timetable.previous(from + DAY / 2) ?? 0;
      const end = timetable.next(from + DAY / 2) ?? 0;
      return [(start - from) / 3_600_000, (end - from) / 3_600_000];
    };
    // Berlin's 29 March has 23 hours.
    expect(off('Europe/Berlin', Date.UTC(2026, 2, 29))).toEqual([-2, 22]);
    expect(off('Europe/Berlin', Date.UTC(2026, 11, 25))).toEqual([-2, 23]);
    expect(off('America/New_York', Date.UTC(2026, 11, 25))).toEqual([4, 29]);
    expect(off('UTC', Date.UTC(2030, 11, 25))).toEqual([-1, 24]);
  });

  it('counts the actual start, spread included', () => {
    const calendars = { holidays: [{ yearly: '06-10' }] };
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const { jobs } = loadJobs({
        calendars,
        jobs: { [name]: { schedule: '0 * * * *', spread: '20h', ...USE } },
      }).jobsFile;
      for (const { timetable, offsetMs } of jobs) {
        const [start, end] = [Date.UTC(2026, 5, 10), Date.UTC(2026, 5, 11)];
        expect((timetable.previous(end - offsetMs) ?? 0) + offsetMs).toBeLessThan(start);
        expect((timetable.next(start - offsetMs - 1) ?? 0) + offsetMs).toBeGreaterThanOrEqual(end);
      }
    }
  });

  it('is several calendars, and dates beside them', () => {
    const calendars = { one: ['2026-03-05'], two: ['2026-03-06', '2026-03-05'], unused: ['2026-03-09'] };
    const except = [{ calendar: 'one' }, '2026-03-07', { calendar: 'two' }];
    expect(daysOff(specOf({ except }, calendars))).toEqual(['2026-03-05', '2026-03-06', '2026-03-07']);
  });

  it('excludes exactly its days, whatever they are', () => {
    const pad = (number: number): string => String(number).padStart(2, '0');
    const entry = fc.record({
      yearly: fc
        .date({ min: new Date('2024-01-01'), max: new Date('2024-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString().slice(5, 10)),
      days: fc.integer({ min: 1, max: 366 }),
      since: fc.option(fc.integer({ min: 2024, max: 2028 }), { nil: undefined }),
      until: fc.option(fc.integer({ min: 2026, max: 2030 }), { nil: undefined }),
    });
    const ordered = entry.filter(({ since = 0, until = 9999 }) => since <= until);
    fc.assert(
      fc.property(fc.array(ordered, { maxLength: 4 }), (yearly) => {
        const isOff = (day: number): boolean =>
          yearly.some(({ yearly: start, days, since = 0, until = 9999 }) =>
            [2024, 2025, 2026, 2027, 2028, 2029].some((year) => {
              if (year < since || year > until) return false;
              const first = Date.parse(`${year}-${start}T00:00:00Z`);
              const exists = new Date(first).toISOString().slice(5, 10) === start;
              return exists && day >= first && day < first + days * DAY;
            }),
          );
        const expected: string[] = [];
        for (let day = FROM; day < FROM + 3 * 365 * DAY; day += DAY) {
          const date = new Date(day);
          if (isOff(day))
            expected.push(`${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`);
        }
        let found: string[];
        try {
          found = daysOff(
            specOf(USE, {
              holidays: yearly.map(({ since, until, ...rest }) => ({
                ...rest,
                ...(since && { since }),
                ...(until && { until }),
              })),
            }),
          );
        } catch (error) {
          // Whole years every year: nothing is ever due.
          if (!(error instanceof ConfigError)) throw error;
          expect(error.message).toContain('never due');
          return;
        }
        expect(found).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the schedule hash', () => {
  const plain = specOf({}).scheduleHash;

  it('is that of a job without calendars where none is used, or an empty one', () => {
    expect(specOf({}, { holidays: ['2026-12-25', { yearly: '01-01' }] }).scheduleHash).toBe(plain);
    expect(specOf(USE, { holidays: [] }).scheduleHash).toBe(plain);
  });

  it('is the same for dates in a calendar and in the job', () => {
    const inline = specOf({ except: ['2026-12-25', { from: '2026-08-01', to: '2026-08-03' }] }).scheduleHash;
    expect(specOf(USE, { holidays: [{ from: '2026-08-01', to: '2026-08-03' }, '2026-12-25'] }).scheduleHash).toBe(
      inline,
    );
    expect(inline).not.toBe(plain);
  });

  it('differs with the days of a year, their number and their years', () => {
    const hashes = [
      [{ yearly: '12-25' }],
      [{ yearly: '12-26' }],
      [{ yearly: '12-25', days: 2 }],
      [{ yearly: '12-25', since: 2027 }],
      [{ yearly: '12-25', until: 2027 }],
    ].map((holidays) => specOf(USE, { holidays }).scheduleHash);
    expect(new Set([plain, ...hashes]).size).toBe(6);
    const [one, other] = [
      [{ yearly: '12-25' }, { yearly: '01-01' }],
      [{ yearly: '01-01', days: 1 }, { yearly: '12-25' }, { yearly: '12-25' }],
    ].map((holidays) => specOf(USE, { holidays }).scheduleHash);
    expect(one).toBe(other);
  });
});

describe('a calendar that is wrong', () => {
  const jobs = { job: { schedule: '@daily' } };
  const using = { job: { schedule: '@daily', ...USE } };
  it.each([
    [
      { jobs: using },
      'jobs.job.except[0].calendar = "holidays": is not a calendar of this file; declare it in "calendars" of the file',
    ],
    [
      { calendars: { holiday: [] }, jobs: using },
      'jobs.job.except[0].calendar = "holidays": is not a calendar of this file; did you mean "holiday"?',
    ],
    [{ calendars: { qq: [] }, jobs: using }, 'use one of qq'],
    [
      { jobs: { job: { schedule: '@daily', except: [{ calendar: 5 }] } } },
      "jobs.job.except[0].calendar = 5: is not text; must be the name of one of the file's calendars",
    ],
    [{ calendars: [], jobs }, 'calendars = []: is not an object; must be an object of lists by name'],
    [{ calendars: { a: '2026-12-25' }, jobs }, 'calendars.a = "2026-12-25": is not a list; must be a list of'],
    [
      { calendars: { 'A b': [] }, jobs },
      'calendars["A b"] = []: has a name that is not allowed; must be 1 to 63 characters of a-z 0-9 -',
    ],
    [
      { calendars: { holidays: [] }, jobs: { job: { schedule: '@daily', except: ['holidays'] } } },
      'jobs.job.except[0] = "holidays": is not a date; must be a date such as "2026-12-25", ' +
        '{"from": "2026-08-01", "to": "2026-09-01"}, or {"calendar": "holidays"}',
    ],
    [
      { timeZone: 'Europe/Lisbon', jobs },
      'timeZone = "Europe/Lisbon": is not a setting; it is a setting of a job: set it in each job',
    ],
    [{ calendars: { a: ['christmas'] }, jobs }, 'calendars.a[0] = "christmas": is not a date; must be a date such as'],
    [{ calendars: { a: [5] }, jobs }, 'calendars.a[0] = 5: is neither a date nor an object; must be a date such as'],
    [{ calendars: { a: ['2026-02-30'] }, jobs }, 'calendars.a[0] = "2026-02-30": names a date that does not exist'],
    [{ calendars: { a: [{ from: '2026-12-25' }] }, jobs }, 'calendars.a[0].to: is missing; must be a date'],
    [{ calendars: { a: [{ from: '2026-12-25', to: '2026-12-24' }] }, jobs }, 'ends before it begins'],
    [
      { calendars: { a: [{ yearly: '13-01' }] }, jobs },
      'calendars.a[0].yearly = "13-01": is not a day of a year; must be month and day, such as "12-25"',
    ],
    [
      { calendars: { a: [{ yearly: '12-25', days: 0 }] }, jobs },
      'calendars.a[0].days = 0: is less than 1; must be a whole number from 1 to 366',
    ],
    [
      { calendars: { a: [{ yearly: '12-25', since: 2030, until: 2027 }] }, jobs },
      'calendars.a[0] = {"yearly":"12-25","since":2030,"until":2027}: ends before it begins; "until" is the last year',
    ],
    [
      { calendars: { a: [{ yearly: '12-25', day: 2 }] }, jobs },
      'calendars.a[0].day = 2: is not a setting; did you mean',
    ],
    [
      { calendars: { a: [{ file: '' }] }, jobs },
      'calendars.a[0].file = "": is empty; must be the path of an iCalendar file',
    ],
    [
      { calendars: { a: [{ file: 'nowhere.ics' }] }, jobs },
      'calendars.a[0].file = "nowhere.ics": cannot be read: ENOENT',
    ],
    [{ calendars: { a: Array(5001).fill('2026-12-25') }, jobs }, 'calendars.a'],
    [
      { calendars: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`c${index}`, []])), jobs },
      'calendars = ',
    ],
    [
      { calendars: { holidays: [{ yearly: '01-01', days: 366 }] }, jobs: using },
      'jobs.job.schedule = "@daily": is never due',
    ],
  ])('is refused with its place, value and remedy: %#', (file, expected) => {
    const problems = problemsOf(file);
    expect(problems).toEqual([expect.stringContaining(expected)]);
    expect(problems[0]).toMatch(/; \S/);
  });

  it('is reported once, and not again at each job that uses it', () => {
    expect(problemsOf({ calendars: { holidays: 5 }, jobs: using })).toHaveLength(1);
  });
});

describe('an iCalendar file of a calendar', () => {
  it('lies beside the jobs file, and is read when that is', () => {
    write('days/pt.ics', ICS('20260305'));
    const file = write('jobs.json', {
      calendars: { holidays: [{ file: 'days/pt.ics' }, { yearly: '12-25' }] },
      jobs: { job: { schedule: '@daily', ...USE } },
    });
    const { jobsFile, calendars, files } = loadJobs(file);
    const [spec] = jobsFile.jobs;
    expect(spec && daysOff(spec, FROM, FROM + 365 * DAY)).toEqual(['2026-03-05', '2026-12-25']);
    expect(files).toEqual([path.join(folder, 'days/pt.ics')]);
    // Such a file needs no other, and means the same.
    expect(calendars).toEqual({ holidays: [{ from: '2026-03-05', to: '2026-03-06' }, { yearly: '12-25' }] });
    const again = loadJobs({ calendars, jobs: { job: { schedule: '@daily', ...USE } } }).jobsFile.jobs[0];
    expect(again?.scheduleHash).toBe(spec?.scheduleHash);
  });

  it('is refused at the line that is wrong', () => {
    write('bad.ics', ICS('20261332'));
    expect(problemsOf({ calendars: { a: [{ file: path.join(folder, 'bad.ics') }] }, jobs: {} })).toEqual([
      expect.stringMatching(
        /^calendars\.a\[0\]\.file = ".*": is not usable at line 3: DTSTART "20261332" is not a date/,
      ),
    ]);
  });

  it('is refused if it is too large, or has too much', () => {
    write('large.ics', 'x'.repeat(1024 * 1024 + 1));
    const large = path.join(folder, 'large.ics');
    expect(problemsOf({ calendars: { a: [{ file: large }] }, jobs: {} })[0]).toContain(
      'has 1048577 bytes; keep it below',
    );
    const event = 'BEGIN:VEVENT\nDTSTART:20261225\nEND:VEVENT\n';
    write('many.ics', `BEGIN:VCALENDAR\n${event.repeat(5_001)}END:VCALENDAR\n`);
    const many = path.join(folder, 'many.ics');
    expect(problemsOf({ calendars: { a: [{ file: many }] }, jobs: {} })[0]).toContain(
      'has 5001 entries with those of its files',
    );
  });

  it('is watched and merged by cronlease dev', () => {
    const app = path.join(folder, 'app');
    write('app/own.ics', ICS('20260305'));
    write('app/jobs.json', {
      calendars: { holidays: [{ file: 'own.ics' }] },
      jobs: { own: { schedule: '@daily', ...USE } },
    });
    write('more/more.ics', ICS('20260306'));
    const more = write('more/jobs.json', {
      calendars: { others: [{ file: 'more.ics' }] },
      jobs: { more: { schedule: '@daily', except: [{ calendar: 'others' }] } },
    });
    const jobs = devJobs({ app, file: undefined, more });
    expect(jobs.watched).toEqual([
      path.join(app, 'jobs.json'),
      more,
      path.join(app, 'own.ics'),
      path.join(folder, 'more/more.ics'),
    ]);
    jobs.write();
    const [own, added] = loadJobs(jobs.file ?? '').jobsFile.jobs.toSorted((a, b) => (a.name < b.name ? 1 : -1));
    expect(own && daysOff(own, FROM, FROM + 365 * DAY)).toEqual(['2026-03-05']);
    expect(added && daysOff(added, FROM, FROM + 365 * DAY)).toEqual(['2026-03-06']);
    write('app/own.ics', ICS('20260307'));
    expect(jobs.reload()).toEqual({ kind: 'valid', changes: ['jobs.json: changed calendars'] });
    expect(jobs.reload()).toEqual({ kind: 'valid', changes: [] });
    jobs.remove();
  });
});

describe('the events of an iCalendar file that count', () => {
  const event = (date: string, summary: string, categories: string): string =>
    `BEGIN:VEVENT\nDTSTART:${date}\nSUMMARY:${summary}\nCATEGORIES:${categories}\nEND:VEVENT\n`;
  const mixed = [
    event('20260305', 'Founding Day', 'Public holiday,National'),
    event('20260306', 'Tea Day', 'Observance'),
    event('20260309', 'Founding Day (observed)', 'public HOLIDAY'),
  ].join('');
  const days = (filter: object): string[] => {
    write('mixed.ics', `BEGIN:VCALENDAR\n${mixed}END:VCALENDAR\n`);
    const file = path.join(folder, 'mixed.ics');
    return daysOff(specOf(USE, { holidays: [{ file, ...filter }] }), FROM, FROM + 365 * DAY);
  };

  it('are selected and excluded by CATEGORIES and SUMMARY', () => {
    expect(days({})).toEqual(['2026-03-05', '2026-03-06', '2026-03-09']);
    expect(days({ select: { categories: ['Public Holiday'] } })).toEqual(['2026-03-05', '2026-03-09']);
    expect(days({ select: { summary: ['tea day', 'nothing'] } })).toEqual(['2026-03-06']);
    expect(days({ select: { summary: ['*day*'] }, exclude: { summary: ['*(observed)'] } })).toEqual([
      '2026-03-05',
      '2026-03-06',
    ]);
    expect(days({ exclude: { categories: ['Observance', 'National'] } })).toEqual(['2026-03-09']);
    expect(days({ select: { summary: ['*day*day*'], categories: ['observance'] } })).toEqual(['2026-03-06']);
  });

  it('are known by a text that is folded in the middle of a character', () => {
    const text = Buffer.from(`BEGIN:VCALENDAR\r\n${event('20260306', 'Fête', '休日')}END:VCALENDAR\r\n`);
    const filters = { ê: { summary: ['fête'] }, 休: { categories: ['休日'] } };
    for (const [char, select] of Object.entries(filters)) {
      const at = text.indexOf(char) + 1;
      const file = path.join(folder, 'folded.ics');
      writeFileSync(file, Buffer.concat([text.subarray(0, at), Buffer.from('\r\n '), text.subarray(at)]));
      const spec = specOf(USE, { holidays: [{ file, select }] });
      expect(daysOff(spec, FROM, FROM + 365 * DAY)).toEqual(['2026-03-06']);
      expect(spec.excluded?.by(Date.UTC(2026, 2, 6))?.entry).toContain('Fête');
    }
  });

  it('are errors if none is selected, and a warning if none is excluded', () => {
    write('mixed.ics', `BEGIN:VCALENDAR\n${mixed}END:VCALENDAR\n`);
    const file = path.join(folder, 'mixed.ics');
    expect(problemsOf({ calendars: { a: [{ file, select: { categories: ['Bank holiday'] } }] }, jobs: {} })).toEqual([
      'calendars.a[0].select = {"categories":["Bank holiday"]}: selects no event of the file; use a category or summary that its events have',
    ]);
    const { warnings } = loadJobs({ calendars: { a: [{ file, exclude: { summary: ['x*'] } }] }, jobs: {} });
    expect(warnings[0]).toMatchObject({ path: 'calendars.a[0].exclude', message: 'matches no event of the file' });
    expect(problemsOf({ calendars: { a: [{ file, select: {} }] }, jobs: {} })).toEqual([
      'calendars.a[0].select = {}: is empty; must be an object such as {"categories": ["Public holiday"]}, {"summary": ["*(observed)"]}, or both',
    ]);
    expect(problemsOf({ calendars: { a: [{ file, select: { categories: 'x' } }] }, jobs: {} })).toEqual([
      'calendars.a[0].select.categories = "x": is not a list; must be a list of categories, such as ["Public holiday"], or left out',
    ]);
  });
});

describe('a calendar that ends', () => {
  const now = Date.UTC(2026, 10, 1);
  const warningsOf = (holidays: unknown[]): string[] =>
    loadJobs({ calendars: { holidays }, jobs: { job: { schedule: '@daily' } } }, { now }).warnings.map(formatIssue);

  it('is a warning from 60 days before its end', () => {
    expect(warningsOf(['2026-05-01', '2025-12-26'])).toEqual([
      expect.stringMatching(/^calendars\.holidays = .*: ended with 2026-05-01: it excludes no later day; add the days/),
    ]);
    expect(warningsOf([{ from: '2026-12-24', to: '2026-12-27' }])).toEqual([
      expect.stringContaining('ends with 2026-12-26, in less than 60 days'),
    ]);
    expect(warningsOf([{ yearly: '12-25', days: 2, until: 2025 }])).toEqual([
      expect.stringContaining('ended with 2025-12-26'),
    ]);
  });

  it('is none if it goes on', () => {
    expect(warningsOf(['2027-01-01'])).toEqual([]);
    expect(warningsOf(['2026-05-01', { yearly: '12-25' }])).toEqual([]);
    expect(warningsOf([{ yearly: '12-25', until: 2027 }])).toEqual([]);
    expect(warningsOf([])).toEqual([]);
    expect(
      loadJobs({ calendars: { holidays: ['2020-01-01'] }, jobs: { job: { schedule: '@daily' } } }).warnings,
    ).toEqual([]);
  });
});

describe('an excluded time', () => {
  const calendars = {
    holidays: [
      { yearly: '12-25', days: 2, name: 'Christmas' },
      { from: '2026-08-01', to: '2026-08-03' },
    ],
  };
  const settings = {
    between: { from: '2026-01-01' },
    except: ['2026-03-05', { from: '2026-03-07T12:00', to: '2026-03-08', name: 'Move' }, { calendar: 'holidays' }],
    timeZone: 'Europe/Lisbon',
  };
  const { excluded } = specOf(settings, calendars);
  it.each([
    [Date.UTC(2025, 11, 31), { setting: 'between', calendar: null, entry: 'outside of from 2026-01-01' }],
    [Date.UTC(2026, 2, 5), { setting: 'except', calendar: null, entry: '2026-03-05' }],
    [
      Date.UTC(2026, 2, 7, 13),
      { setting: 'except', calendar: null, entry: 'Move (from 2026-03-07T12:00:00 up to 2026-03-08)' },
    ],
    // Midnight of Lisbon in summer.
    [Date.UTC(2026, 6, 31, 23), { setting: 'except', calendar: 'holidays', entry: 'from 2026-08-01 up to 2026-08-03' }],
    [
      Date.UTC(2026, 11, 26),
      { setting: 'except', calendar: 'holidays', entry: 'Christmas (2 days from 12-25 of each year)' },
    ],
    [Date.UTC(2026, 11, 27), undefined],
  ])('%d is excluded by its entry', (time, by) => {
    expect(excluded?.by(time)).toEqual(by);
  });

  it('counts with its spread, and has no part in the schedule hash', () => {
    const named = specOf({ except: [{ from: '2026-03-05', to: '2026-03-06', name: 'Fair' }] });
    expect(named.scheduleHash).toBe(specOf({ except: ['2026-03-05'] }).scheduleHash);
    expect(specOf({}).excluded).toBeUndefined();
    const { excluded: late, offsetMs } = specOf({ spread: '20h', schedule: '0 * * * *', except: ['2026-03-05'] });
    expect(late?.by(Date.UTC(2026, 2, 5) - offsetMs)?.entry).toBe('2026-03-05');
    expect(late?.by(Date.UTC(2026, 2, 5) - offsetMs - 1)).toBeUndefined();
  });

  it('is explained by why, and listed by plan --excluded', () => {
    const { jobs } = loadJobs({
      calendars,
      jobs: { job: { schedule: '0 3 * * *', ...settings }, free: { schedule: '@daily' } },
    }).jobsFile;
    const found = excludedIn(jobs, { from: Date.UTC(2026, 11, 20), to: Date.UTC(2027, 0, 1), limit: 1 });
    expect(found).toMatchObject({
      counted: 2,
      starts: [{ spec: { name: 'job' }, scheduledFor: Date.UTC(2026, 11, 25, 3), by: { calendar: 'holidays' } }],
    });
    expect(
      excludedText(found, { from: FROM, to: FROM + DAY }, utc)
        .join('\n')
        .replaceAll(/\s+/g, ' '),
    ).toContain(
      '2026-12-25T03:00:00Z (Fri 2026-12-25 03:00:00 +00:00) job: holidays: Christmas (2 days from 12-25 of each year)',
    );
  });
});

it('shares the days of a calendar among many jobs', () => {
  const dayAt = (index: number): string => new Date(FROM + index * DAY).toISOString().slice(0, 10);
  // Every second day, because days that touch are one span.
  const holidays = Array.from({ length: 1_000 }, (_, index) => dayAt(2 * index));
  const jobs = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [
      `job-${index}`,
      { schedule: `${index % 60} * * * *`, spread: '1h', ...USE },
    ]),
  );
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const loaded = loadJobs({ calendars: { holidays }, jobs });
  collect();
  const grown = process.memoryUsage().heapUsed - before;
  expect(loaded.jobsFile.jobs).toHaveLength(1_000);
  // A copy of the days for each job would be a million spans, some 50 MB.
  expect(grown).toBeLessThan(20_000_000);
});
