import { describe, expect, it } from 'vitest';
import { readQuartzFile } from '../../src/import/quartz';

const OPTIONS = { now: Date.UTC(2026, 0, 1), timeZone: 'UTC' };
const read = (text: string, timeZone = 'UTC') => readQuartzFile('jobs', text, { ...OPTIONS, timeZone });

function settingsOf(expression: string) {
  const { drafts, notes } = read(`one = ${expression}\n`);
  expect(notes.filter(({ leftOut }) => leftOut)).toEqual([]);
  return drafts[0]?.settings;
}

describe('an expression of Quartz', () => {
  it.each([
    ['0 0 12 ? * MON-FRI', '0 0 12 * * MON-FRI'],
    ['0 15 10 ? * 2-6', '15 10 * * 1-5'],
    ['0 15 10 L * ?', '0 15 10 L * *'],
    ['0 15 10 ? * 6L', '15 10 * * 5L'],
    ['0 15 10 ? * 6#3', '15 10 * * 5#3'],
    ['0 15 10 ? * L', '15 10 * * 6'],
    ['0 15 10 ? * FRIL', '0 15 10 * * FRIL'],
    ['0 0 22-2 * * ?', '0 0-2,22,23 * * *'],
    ['0 0/5 14 * * ?', '0 0/5 14 * * *'],
    ['0 /5 14 * * ?', '*/5 14 * * *'],
    ['30 0 0 ? NOV-FEB SAT-SUN', '30 0 0 * 1,2,11,12 0,6'],
  ])('%s becomes %s', (expression, schedule) => {
    expect(settingsOf(expression)?.schedule).toBe(schedule);
  });

  it('has its years as a period', () => {
    expect(settingsOf('0 0 3 * * ? 2027')).toMatchObject({ between: { from: '2027-01-01', to: '2028-01-01' } });
    expect(settingsOf('0 0 3 * * ? 2027/2')).toMatchObject({ between: { from: '2027-01-01' } });
    expect(settingsOf('0 0 3 * * ? 2027,2030')).toMatchObject({
      between: { from: '2027-01-01', to: '2031-01-01' },
      except: [{ from: '2028-01-01', to: '2030-01-01' }],
    });
    expect(settingsOf('0 0 3 * * ? *')).not.toHaveProperty('between');
  });

  it('runs a time that the clocks repeat in its second pass', () => {
    const { drafts } = read('one = 0 0/30 * * * ?\n', 'Europe/Berlin');
    expect(drafts[0]?.settings).toMatchObject({ timeZone: 'Europe/Berlin', dst: { gap: 'skip', overlap: 'second' } });
    expect(drafts[0]?.settings.schedule).toMatch(/^0,30 0,1,2,.*,23 \* \* \*$/);
  });

  it.each([
    ['0 0 12 15W * ?', '15W'],
    ['0 0 12 LW * ?', 'LW'],
    ['0 0 12 L-3 * ?', 'L-3'],
    ['0 0 12 * * *', 'needs ?'],
    ['0 0 12 ? * ?', 'needs ?'],
    ['0 0 12 1 JAN/3 ?', 'a step after a name'],
    ['0 0 12 ? * MON-FRI/2', 'a step after a name'],
    ['0 0 12 ? * 6#6', '6#6'],
    ['0 0 12 ? * 0', 'has "0" for day-of-week'],
    ['0 0/60 12 * * ?', 'has "0/60" for minute'],
    ['0 0 0 31 FEB ?', 'a date that never comes'],
  ])('%s is left out', (expression, why) => {
    const { drafts, notes } = read(`one = ${expression}\n`);
    expect(drafts).toEqual([]);
    expect(notes.filter(({ leftOut }) => leftOut)).toEqual([
      expect.objectContaining({ line: 1, leftOut: true, why: expect.stringContaining(why) as string }),
    ]);
  });

  it('brings a note for numbers of weekdays, which others count in another way', () => {
    expect(read('a = 0 0 12 ? * 2-6\nb = 0 0 12 ? * FRI#3\nc = 0 0 12 * * ?\n').notes).toEqual([
      expect.objectContaining({ line: 1, leftOut: false, what: 'a = 0 0 12 ? * 2-6' }),
    ]);
  });
});

describe('a list of expressions', () => {
  it('has a name on each line, in properties or before the expression', () => {
    const text = '# c\n! d\na.b = 0 0 1 * * ?\nc: 0 0 \\\n  2 * * ?\nd "0 0 3 * * ?"\n0 0 4 * * ?\n';
    expect(read(text).drafts.map(({ line, name }) => [line, name])).toEqual([
      [3, 'a.b'],
      [4, 'c'],
      [6, 'd'],
      [7, 'job-7'],
    ]);
  });

  it('has a note for every other line', () => {
    const { notes } = read('org.quartz.threadPool.threadCount = 5\nlast = 0 0 1 * * ? \\');
    expect(notes).toEqual([expect.objectContaining({ line: 1, leftOut: true })]);
  });

  it('shows the names of other settings, and not their values', () => {
    const { notes } = read('spring.datasource.password = S3same\norg.quartz.dataSource.URL=jdbc:x\nS3same\n');
    expect(notes.map(({ what }) => what)).toEqual([
      'spring.datasource.password',
      'org.quartz.dataSource.URL',
      'a line',
    ]);
  });
});

describe('a jobs file of Quartz', () => {
  const file = (...triggers: readonly string[]): string =>
    ['<job-scheduling-data xmlns="x"><schedule>', '<job><name>Report</name><job-class>com.x.Report</job-class>']
      .concat('<job-data-map><entry><key>a</key><value>1 &amp; 2</value></entry></job-data-map></job>')
      .concat(
        triggers.map((trigger) => `<trigger>${trigger}</trigger>`),
        '</schedule></job-scheduling-data>',
      )
      .join('\n');
  const cron = (inner = ''): string =>
    `<cron><name>t</name><job-name>Report</job-name>${inner}<cron-expression>0 0 8 ? * 2</cron-expression></cron>`;

  it('gives a job for each cron trigger', () => {
    const inner = [
      '<priority>7</priority><start-time>2030-06-01T08:00:00.0</start-time><end-time>2031-01-01T08:00:00Z</end-time>',
      '<misfire-instruction>MISFIRE_INSTRUCTION_DO_NOTHING</misfire-instruction><time-zone>Europe/Lisbon</time-zone>',
    ];
    const { drafts, notes } = read(file(cron(inner.join(''))), 'Europe/Berlin');
    expect(notes).toEqual([]);
    expect(drafts).toEqual([
      {
        ...{ file: 'jobs', line: 4, name: 'Report' },
        settings: {
          ...{ schedule: '0 8 * * 1', timeZone: 'Europe/Lisbon', dst: { gap: 'skip', overlap: 'second' } },
          ...{ description: 'com.x.Report', input: { a: '1 & 2' }, catchUp: 'none', priority: 7 },
          // The start is in the zone of the process, and the end is included.
          between: { from: '2030-06-01T06:00:00.000Z', to: '2031-01-01T08:00:01.000Z' },
        },
      },
    ]);
  });

  it('gives a job for a simple trigger that repeats for ever', () => {
    const simple = (count: string, interval: string): string =>
      `<simple><name>s</name><job-name>Report</job-name><repeat-count>${count}</repeat-count><repeat-interval>${interval}</repeat-interval></simple>`;
    const { drafts, notes } = read(file(simple('-1', '90000')));
    expect(drafts).toEqual([
      expect.objectContaining({
        settings: expect.objectContaining({ schedule: '@every 1m30s', description: 'com.x.Report' }) as unknown,
      }),
    ]);
    expect(notes).toEqual([
      expect.objectContaining({ leftOut: false, why: expect.stringContaining('from 1970') as unknown }),
    ]);
    for (const other of [simple('3', '90000'), simple('-1', '1500')]) expect(read(file(other)).drafts).toEqual([]);
  });

  it.each([
    ['smtpPassword', 'S3same'],
    ['jdbcUrl', 'jdbc:mysql://db/x?user=root&amp;password=S3same'],
    ['target', 'ftp://root:S3same@files.example.com/in'],
  ])('carries no password into the input: %s %s', (key, value) => {
    const entry = `<key>${key}</key><value>${value}</value>`;
    const { drafts, notes } = read(file(cron()).replace('<key>a</key><value>1 &amp; 2</value>', entry));
    expect(JSON.stringify([drafts, notes])).not.toContain('S3same');
    expect(notes).toEqual([expect.objectContaining({ what: `input ${key}`, leftOut: false })]);
  });

  it('leaves out what no job can have, and notes it', () => {
    const simple = '<simple><name>s</name><job-name>Report</job-name><repeat-interval>9</repeat-interval></simple>';
    const { drafts, notes } = read(
      file(
        simple,
        cron('<calendar-name>holidays</calendar-name>'),
        cron('<end-time>soon</end-time>'),
        cron('<priority>10</priority>'),
      ),
    );
    expect(drafts).toHaveLength(1);
    expect(notes.map(({ line, leftOut }) => [line, leftOut])).toEqual([
      [4, true],
      [5, true],
      [6, true],
      [7, false],
    ]);
    const lonely = read(file().replace('</job>', '</job><job><name>Lonely</name></job>'));
    expect(lonely.notes.map(({ what }) => what)).toEqual(['job Report', 'job Lonely']);
  });

  it('leaves out a trigger with a year and an end', () => {
    const both = cron('<end-time>2031-01-01T08:00:00Z</end-time>').replace('? * 2', '? * 2 2030');
    expect(read(file(both)).notes).toEqual([expect.objectContaining({ leftOut: true })]);
  });

  it('makes up for all missed times if it ignores misfires', () => {
    const inner = '<misfire-instruction>MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY</misfire-instruction>';
    expect(read(file(cron(inner))).drafts[0]?.settings).toMatchObject({ catchUp: 'all' });
  });

  it('is refused whole if it is something else', () => {
    expect(() => read('<a>\n<b></a>')).toThrow(/^jobs:2: this is not XML/);
    expect(() => read('<beans/>')).toThrow('jobs:1: this is not a Quartz jobs file');
  });
});
