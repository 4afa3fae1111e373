import { describe, expect, it } from 'vitest';
import { isOfelia, readOfelia } from '../../src/import/ofelia';

const OPTIONS = { now: Date.UTC(2026, 0, 1), timeZone: 'UTC' };
const read = (text: string, timeZone = 'UTC') => readOfelia('ofelia.ini', text, { ...OPTIONS, timeZone });

/** The reason why the one job with this schedule is left out. */
function reasonAgainst(schedule: string): string {
  const { drafts, notes } = read(`[job-exec "x"]\nschedule = ${schedule}\ncommand = a\n`);
  expect(drafts).toEqual([]);
  expect(notes).toMatchObject([{ file: 'ofelia.ini', line: 1, what: '[job-exec "x"]', leftOut: true }]);
  return notes[0]?.why ?? '';
}

describe('the jobs of Ofelia', () => {
  it('have six fields with seconds first, a period, or a word', () => {
    const { drafts, notes } = read(
      [
        '; Jobs',
        '[job-exec "Flush logs"]',
        'schedule = @every 10s',
        'command = /opt/flush.sh',
        '',
        '[job-local "backup"]',
        'Schedule = "0 30 2 * * MON-FRI" ; at night',
        'command = /opt/backup.sh --password=S3same',
        '[job-run hourly]',
        'schedule: @hourly',
        'image: alpine:latest',
        '[job-service-run "stats"]',
        'schedule = 0,20,40 * * * * *',
      ].join('\r\n'),
    );
    expect(drafts).toEqual([
      {
        file: 'ofelia.ini',
        line: 2,
        name: 'Flush logs',
        settings: { schedule: '@every 10s', description: '/opt/flush.sh' },
      },
      {
        file: 'ofelia.ini',
        line: 6,
        name: 'backup',
        settings: { schedule: '0 30 2 * * MON-FRI', description: '/opt/backup.sh --password=***' },
      },
      {
        file: 'ofelia.ini',
        line: 9,
        name: 'hourly',
        settings: { schedule: '0 * * * *', description: 'alpine:latest' },
      },
      { file: 'ofelia.ini', line: 12, name: 'stats', settings: { schedule: '0,20,40 * * * * *' } },
    ]);
    expect(notes.map(({ line, what, leftOut }) => [line, what, leftOut])).toEqual([
      [2, '[job-exec "Flush logs"] @every 10s', false],
      [9, '[job-run "hourly"] image', false],
    ]);
  });

  it('are not due in a gap, and in both passes of a repeated time', () => {
    const text = '[job-exec "x"]\nschedule = 0 30 2 * * *\n';
    expect(read(text, 'Europe/Berlin').drafts[0]?.settings).toEqual({
      schedule: '0 30 2 * * *',
      timeZone: 'Europe/Berlin',
      dst: { gap: 'skip', overlap: 'both' },
    });
    expect(read('[job-exec "x"]\nschedule = CRON_TZ=Asia/Tokyo 0 0 3 * * *\n').drafts[0]?.settings.timeZone).toBe(
      'Asia/Tokyo',
    );
  });

  it('are left out with the reason where no job can have their times', () => {
    expect(reasonAgainst('0 3 * * *')).toContain('older versions of Ofelia read seconds first');
    expect(reasonAgainst('0 0 0 3 * * *')).toContain('has 7 fields');
    expect(reasonAgainst('0 0 25 * * *')).toContain('has "25" for hour');
    expect(reasonAgainst('@triggered')).toContain('"@triggered" has 1 fields');
    expect(reasonAgainst('@every soon')).toContain('has "soon" after @every');
    expect(reasonAgainst('')).toBe('it has no schedule');
  });

  it('bring notes with the names of other settings, and with no value', () => {
    const { drafts, notes } = read(
      [
        '[global]',
        'smtp-password = S3same',
        '[job-exec "x"]',
        'schedule = @daily',
        'environment = A=S3same',
        'environment = B=S3same',
        'user = S3same',
        'no-overlap = true',
      ].join('\n'),
    );
    expect(drafts).toHaveLength(1);
    expect(notes.map(({ line, what }) => [line, what])).toEqual([
      [1, '[global] smtp-password'],
      [3, '[job-exec "x"] environment, user'],
    ]);
    expect(JSON.stringify(notes)).not.toContain('S3same');
  });

  it('leave out lines that are neither sections nor settings', () => {
    const { notes } = read('lost = 1\n[job-exec "x"]\nschedule = @daily\nnothing\n');
    expect(notes.map(({ line, leftOut }) => [line, leftOut])).toEqual([
      [1, true],
      [4, true],
    ]);
  });

  it('are told from the entries of a crontab', () => {
    expect(isOfelia('[global]\n\n[job-exec "x"]\nschedule = @daily\n')).toBe(true);
    expect(isOfelia('[ -x /opt/a ]\n0 3 * * * [ -x /opt/a ] && job-exec "x"\n')).toBe(false);
  });
});
