import { describe, expect, it } from 'vitest';
import { type CrontabOptions, hasUserColumn, readCrontab } from '../../src/import/crontab';
import { commandOf, nameOfCommand } from '../../src/import/crontab-command';

const OPTIONS: CrontabOptions = { now: Date.UTC(2026, 0, 1), timeZone: 'UTC', userColumn: false };

function read(text: string, options: Partial<CrontabOptions> = {}) {
  return readCrontab('crontab', text, { ...OPTIONS, ...options });
}

/** The schedule of the one entry of a crontab. */
function scheduleOf(when: string, timeZone = 'Europe/Berlin') {
  const { drafts, notes } = read(`${when} run\n`, { timeZone });
  expect(notes).toEqual([]);
  return drafts[0]?.settings;
}

/** The one reason why an entry is left out. */
function reasonAgainst(line: string): string {
  const { drafts, notes } = read(`${line}\n`);
  expect(drafts).toEqual([]);
  expect(notes).toEqual([expect.objectContaining({ file: 'crontab', line: 1, what: line, leftOut: true })]);
  return notes[0]?.why ?? '';
}

describe('the entries of a crontab', () => {
  it('have a name of their program, and a description of the comment above them', () => {
    const { drafts } = read(
      [
        '# m h  dom mon dow   command',
        '# The books',
        '# of the day',
        '0 3 * * * /opt/close-books.sh',
        '',
        '# Apart',
        '',
        '5 3 * * * tidy',
      ].join('\n'),
    );
    expect(drafts).toEqual([
      {
        file: 'crontab',
        line: 4,
        name: 'close-books',
        settings: { schedule: '0 3 * * *', description: 'The books of the day' },
      },
      { file: 'crontab', line: 8, name: 'tidy', settings: { schedule: '5 3 * * *', description: 'tidy' } },
    ]);
  });

  it('are not described by an entry that is switched off', () => {
    expect(read('#0 4 * * * /opt/old.sh\n0 3 * * * /opt/new.sh\n').drafts[0]?.settings.description).toBe('/opt/new.sh');
  });

  it.each([
    ['@daily', '@daily'],
    ['@midnight', '0 0 * * *'],
    ['@annually', '0 0 1 1 *'],
    ['@Hourly', '@hourly'],
    ['0 0 * * sun', '0 0 * * sun'],
    ['0 0 * * 5-7', '0 0 * * 5-7'],
    ['-*/5 * * * *', '*/5 * * * *'],
    // Both day fields: either matches. One that begins with a star narrows the other.
    ['0 0 1,15 * 5', '0 0 1,15 * 5'],
    ['0 0 1-7 * */7', '0 0 * * 0#1'],
    ['0 0 */1 * 1', '0 0 * * 1'],
    ['0 0 1-31 * 1', '0 0 * * *'],
    ['0-50/10 4 * * *', '0-50/10 4 * * *'],
  ])('%s becomes %s', (when, schedule) => {
    expect(read(`${when} run\n`).drafts[0]?.settings.schedule).toBe(schedule);
  });

  it('follow elapsed time where the minute or the hour begins with a star, and clock policies elsewhere', () => {
    const timeZone = 'Europe/Berlin';
    expect(scheduleOf('0 1-2 * * *')).toMatchObject({ schedule: '0 1,2 * * *', timeZone });
    expect(scheduleOf('0 1-2 * * *')).not.toHaveProperty('dst');
    expect(scheduleOf('*/15 2 * * *')).toMatchObject({
      schedule: '*/15 2 * * *',
      dst: { gap: 'skip', overlap: 'both' },
    });
    expect(scheduleOf('0 */2 * * *')).not.toHaveProperty('dst');
    expect(scheduleOf('0 1-3 * * *', 'Asia/Tokyo')?.schedule).toBe('0 1-3 * * *');
  });

  it('are left out with the reason where no job can have their times', () => {
    expect(reasonAgainst('@reboot warm')).toContain('not a due time');
    expect(reasonAgainst('@every_minute warm')).toContain('unknown');
    expect(reasonAgainst('0 0 */2 * 1 both')).toContain('match both the day of the month and the day of the week');
    expect(reasonAgainst('0 9 5/15 * * open')).toContain('some crons read it as 5, others as 5-31/15');
    expect(reasonAgainst('0~30 9 * * * random')).toContain('random');
    expect(reasonAgainst('0 0 * * 6-1 backwards')).toContain('has "6-1" for day-of-week');
    expect(reasonAgainst('0 24 * * * late')).toContain('has "24" for hour');
    expect(reasonAgainst('*/0 * * * * never')).toContain('has "*/0" for minute');
    expect(reasonAgainst('0 0 31 2 * never')).toContain('a date that never comes');
    expect(reasonAgainst('0 0 * *')).toContain('five fields and a command');
  });

  it('name a user in the system format', () => {
    const { drafts, notes } = read('17 * * * * www-data /opt/rotate.sh\n0 1 * * * root sweep\n', { userColumn: true });
    expect(drafts.map(({ name }) => name)).toEqual(['rotate', 'sweep']);
    expect(notes).toEqual([expect.objectContaining({ line: 1, why: 'it ran as www-data' })]);
  });

  it('have the zone of CRON_TZ from there on, and are left out after one that is unknown', () => {
    const text = [
      '0 1 * * * a',
      'CRON_TZ = "America/New_York"',
      '0 2 * * * b',
      'CRON_TZ=Mars/Base',
      '0 3 * * * c',
      'CRON_TZ=',
      '0 4 * * * d',
    ];
    const { drafts, notes } = read(text.join('\n'));
    expect(drafts.map(({ name, settings }) => [name, settings.timeZone, settings.dst])).toEqual([
      ['a', undefined, undefined],
      ['b', 'America/New_York', { gap: 'skip', overlap: 'both' }],
      ['d', undefined, undefined],
    ]);
    expect(notes).toEqual([expect.objectContaining({ line: 5, leftOut: true })]);
  });

  it('bring a note for each environment line', () => {
    const { notes } = read('MAILTO=ops@example.com\nTZ=Europe/Berlin\nAPI_URL = https://example.com\n0 1 * * * a\n');
    expect(notes.map(({ line, why }) => [line, why])).toEqual([
      [1, expect.stringContaining('not mailed')],
      [2, expect.stringContaining('does not affect the schedule')],
      [3, expect.stringContaining('environment variable')],
    ]);
  });

  it('bring a note for a gap in which cron runs them twice', () => {
    const { notes } = read('0,30 2 * * * twice\n', { timeZone: 'Europe/Berlin' });
    expect(notes[0]?.why).toBe(
      'on 2026-03-29 the clocks of Europe/Berlin skip 02:00, 02:30: the source runs it 2 times right after them, the job once, at 03:00',
    );
  });

  it('bring a note for a gap whose end is a time of their own', () => {
    // London's clocks skip 01:00 to 02:00: cron starts the command for both of them at 02:00.
    const { notes } = read('0 1-2 * * * twice\n', { timeZone: 'Europe/London' });
    expect(notes[0]?.why).toContain('skip 01:00: the source runs it 2 times right after them');
    expect(read('0 1-2 * * * once\n', { timeZone: 'Europe/Berlin' }).notes).toEqual([]);
  });

  it('are not described by the heading of a file', () => {
    for (const heading of [
      '/etc/cron.d/tidy: crontab entries for the tidy package',
      'Managed by Puppet: DO NOT EDIT',
    ]) {
      expect(read(`# ${heading}\n0 3 * * * /opt/new.sh\n`).drafts[0]?.settings.description).toBe('/opt/new.sh');
    }
  });

  it.each([
    '0 */5 * * * * /opt/a.sh',
    '0 30 2 * * 1-5 /opt/a.sh',
    '0 0 3 * * * * /opt/a.sh',
    '*/10 * * * * * a',
    '0 30 2 * * MON-FRI /opt/a.sh',
    '0 0 3 * * mon /opt/a.sh',
    '0 0 3 * * SUN,WED root /opt/a.sh',
    '0 0 3 ? * MON#2 /opt/a.sh',
    '0 0 3 * * ? /opt/a.sh',
    '0 0 3 * * 5L /opt/a.sh',
    '0 3 1 1 * 2030 /opt/a.sh',
    '0 0 3 * * Tuesday /opt/a.sh',
    '0 0 3 * * 1',
    '0 0 3 * * SAT',
  ])('%s is left out: it has more than five fields', (line) => {
    expect(reasonAgainst(line)).toContain('more than five fields');
  });

  it.each(['mon.sh', '7z a x', 'sun-report', 'satellite --now', 'sunset', '5things'])(
    'may run %s, which is no field',
    (command) => {
      expect(read(`0 3 * * * ${command}\n`).drafts[0]?.settings.schedule).toBe('0 3 * * *');
    },
  );

  it('may run as a user whose name is that of a day', () => {
    const { drafts } = read('0 3 * * * mon /usr/lib/mon/mon\n', { userColumn: true });
    expect(drafts).toMatchObject([{ name: 'mon', settings: { schedule: '0 3 * * *' } }]);
  });

  it.each([
    ['of Alpine', '# do daily/weekly/monthly maintenance\n# min\thour\tday\tmonth\tweekday\tcommand'],
    ['of the BSDs', '#minute\thour\tmday\tmonth\twday\twho\tcommand\n#'],
    ['by hand', '# Format: minute hour day month day-of-week command'],
  ])('are not described by the names of the fields, %s', (_, heading) => {
    expect(read(`${heading}\n0 3 * * * /opt/new.sh\n`).drafts[0]?.settings.description).toBe('/opt/new.sh');
  });

  it('have users if the heading, or all entries, name them', () => {
    expect(hasUserColumn('17 * * * * root cd / && run-parts\n@daily www-data /opt/a.sh\n')).toBe(true);
    expect(hasUserColumn('# m h dom mon dow user  command\n17 * * * * jo /opt/a.sh\n')).toBe(true);
    expect(hasUserColumn('# m h dom mon dow command\n17 * * * * rsync /a /b\n')).toBe(false);
    expect(hasUserColumn('#minute\thour\tmday\tmonth\twday\twho\tcommand\n0 * * * * operator newsyslog\n')).toBe(true);
    expect(hasUserColumn('# min hour day month weekday command\n0 * * * * run-parts /etc/hourly\n')).toBe(false);
    expect(hasUserColumn('17 * * * * root cd /\n5 * * * * /opt/a.sh x\n')).toBe(false);
    expect(hasUserColumn('')).toBe(false);
  });

  it.each([
    ['09,39 * * * * root [ -x /opt/a ] && /opt/a\n5 4 * * 7 jenkins perl /opt/x.pl', true],
    ['0 1 * * * alice /opt/a.sh\n0 2 * * * svc-report python3 /opt/c.py', true],
    ['0 1 * * * postgres /usr/bin/vacuumdb --all', true],
    ['0 1 * * * mail -s Report ops@example.com', false],
    ['0 1 * * * git pull', false],
    ['0 1 * * * nginx -s reload', false],
    ['0 1 * * * python3 /opt/c.py\n0 2 * * * nice /opt/a.sh', false],
    ['0 1 * * * find /var/log -delete\n0 2 * * * alice /opt/a.sh', false],
    ['0 1 * * * npm test', false],
  ])('%j names users: %s', (text, expected) => {
    expect(hasUserColumn(text)).toBe(expected);
  });

  it.each([
    ['mysqldump -u app -pS3same shop > x.sql', 'mysqldump -u app -p*** shop > x.sql'],
    ["mysql --password='S3same open' -e x", 'mysql --password=*** -e x'],
    ['PGPASSWORD=S3same pg_dump -p 5433 shop', 'PGPASSWORD=*** pg_dump -p 5433 shop'],
    ['curl -u app:S3same https://example.com', 'curl -u app:*** https://example.com'],
    [
      'curl -H "Authorization: Bearer S3same" https://example.com',
      'curl -H "Authorization: Bearer ***" https://example.com',
    ],
    ['wget "https://app:S3same@example.com/x?sig=S3same&a=1"', 'wget "https://app:***@example.com/x?sig=***&a=1"'],
    ['java -Dspring.datasource.password=S3same -jar a.jar', 'java -Dspring.datasource.password=*** -jar a.jar'],
    ['sshpass -p S3same ssh host', 'sshpass -p *** ssh host'],
    ['redis-cli -h a -a S3same flushall', 'redis-cli -h a -a *** flushall'],
    ['/opt/run --api-key S3same --count 3', '/opt/run --api-key *** --count 3'],
    [
      'az storage blob list --connection-string "A=b;AccountKey=S3same==;C=d"',
      'az storage blob list --connection-string "A=b;AccountKey=***;C=d"',
    ],
    ['az login --service-principal -u a -p S3same -t x', 'az login --service-principal -u a -p *** -t x'],
    ['docker login -u a -p S3same registry.example.com', 'docker login -u a -p *** registry.example.com'],
    ['docker run -p 8080:80 web', 'docker run -p 8080:80 web'],
    ['echo S3same | sudo -S reboot', 'echo *** | sudo -S reboot'],
    ['printf S3same | docker login -u a --password-stdin', 'printf *** | docker login -u a --password-stdin'],
    ['echo done | mail -s x ops', 'echo done | mail -s x ops'],
    ['zip -r -P S3same x.zip x && 7z a -pS3same y.7z y', 'zip -r -P *** x.zip x && 7z a -p*** y.7z y'],
    ['lftp -u app,S3same sftp://example.com', 'lftp -u app,*** sftp://example.com'],
    ['mkdir -p /srv/x && tar -xpf a.tar', 'mkdir -p /srv/x && tar -xpf a.tar'],
  ])('show no password of %s', (command, shown) => {
    const found = read(`0 1 * * * ${command}\n0 9 5/15 * * ${command}\n`);
    expect(found.drafts[0]?.settings.description).toBe(shown);
    expect(found.notes[0]?.what).toBe(`0 9 5/15 * * ${shown}`);
  });

  it('show no value of an environment line', () => {
    const { notes } = read('DB_PASSWORD=S3same\nPLAIN="S3same"\n0 1 * * * a\n');
    expect(notes.map(({ what }) => what)).toEqual(['DB_PASSWORD', 'PLAIN']);
    expect(JSON.stringify(notes)).not.toContain('S3same');
  });

  it('bring a note for standard input', () => {
    const { drafts, notes } = read(String.raw`0 1 * * * mail -s 100\% ops%Hello%there` + '\n');
    expect(drafts[0]?.settings.description).toBe('mail -s 100% ops');
    expect(notes[0]?.what).toBe(String.raw`0 1 * * * mail -s 100\% ops`);
    expect(JSON.stringify(notes)).not.toContain('Hello');
  });
});

describe('the name of a command', () => {
  it.each([
    ['/usr/local/bin/backup.sh --full', 'backup'],
    ['cd /srv/app && /usr/bin/env php artisan schedule:run >> /dev/null 2>&1', 'artisan'],
    ['sudo -u app -g www /opt/su.sh', 'su'],
    ['sudo -H -- /opt/x.sh', 'x'],
    ['timeout -s KILL 5m /opt/t.sh', 't'],
    ['bash -lc "/opt/b.sh --all"', 'b'],
    [`sh -c 'cd /srv && exec ./tidy-up'`, 'tidy-up'],
    ['su - app -c "/opt/mail.sh"', 'mail'],
    ['su -', 'su'],
    ['python3 -c "import gc"', 'python3'],
    ['nice -n 19 flock -n /var/lock/x.lock python3 /opt/etl/load_orders.py', 'load_orders'],
    ['LANG=C timeout 30m /usr/bin/node --max-old-space-size=200 dist/main.mjs', 'main'],
    ['[ -x /usr/sbin/ntpdate ] && ntpdate-debian', 'ntpdate-debian'],
    ["bash -c 'do it'", 'it'],
    ['if [ -x /opt/a ]; then /opt/rotate.sh; fi', 'rotate'],
    ['. /etc/profile; export A=1; perl /opt/count.pl', 'count'],
    ["perl -e 'sleep 9' && /opt/tidy.sh", 'tidy'],
    ['command -v certbot && certbot renew', 'certbot'],
    ['cd /tmp', 'job'],
  ])('%s: %s', (command, name) => {
    expect(nameOfCommand(command)).toBe(name);
  });

  it('ends at the first % that is not escaped', () => {
    expect(commandOf('a')).toEqual({ shown: 'a', input: undefined });
    expect(commandOf(String.raw`a \% b%c`)).toEqual({ shown: 'a % b', input: 'c' });
  });
});
