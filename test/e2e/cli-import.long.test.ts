import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli-build';

let folder: CliFolder;
beforeAll(() => {
  folder = cliFolder();
  folder.write('crontab', '# Backup\n30 2 * * * /opt/backup.sh\n@reboot warm\nMAILTO=ops@example.com\n');
  folder.write('system', '17 4 * * * www-data /opt/rotate.sh\n');
  folder.write(
    'ofelia.ini',
    '[job-exec "flush"]\nschedule = @every 10s\ncommand = a\n[job-run "old"]\nschedule = 0 3 * * *\nimage = b\n',
  );
  folder.write('only-reboot', '@reboot warm\n');
  folder.write('long.yaml', cronJob('activeDeadlineSeconds: 7200'));
  folder.write('template.yaml', '{{- if .Values.on }}\nkind: CronJob\n{{- end }}\n');
  folder.write('quartz.properties', 'report = 0 0 12 ? * 2-6\nweekday = 0 0 9 15W * ?\n');
  fs.mkdirSync(path.join(folder.path, 'app/Old'), { recursive: true });
  fs.mkdirSync(path.join(folder.path, 'app/node_modules/x'), { recursive: true });
  const schedule = { type: 'timerTrigger', schedule: '%WHEN%' };
  folder.write('app/Old/function.json', { bindings: [schedule] });
  folder.write(
    'app/timers.ts',
    "import { app } from '@azure/functions';\napp.timer('New', { schedule: '0 0 3 * * *', handler });\n",
  );
  folder.write('app/types.d.ts', 'not a source');
  // What other parts of a repository have.
  folder.write('app/markup.js', 'export const page = <p>1</p>;\n');
  folder.write('app/markup-and-timer.js', "import a from 'a';\nconst page = <p>1</p>;\napp.timer('Late', {});\n");
  fs.mkdirSync(path.join(folder.path, 'app/other'));
  folder.write('app/other/function.json', { runtime: 'nodejs' });
  fs.symlinkSync('someone@machine.1', path.join(folder.path, 'app/.#timers.ts'));
  fs.writeFileSync(path.join(folder.path, 'app/Wide.cs'), '\ufeff[assembly: X("é")]', 'utf16le');
  fs.writeFileSync(path.join(folder.path, 'app/Narrow.cs'), '[assembly: X("é")]', 'latin1');
  fs.writeFileSync(path.join(folder.path, 'wide-crontab'), '\ufeff30 2 * * * /opt/backup.sh\r\n', 'utf16le');
  for (const inner of ['Sweep', 'net/bin/Sharp', 'dist', 'build'])
    fs.mkdirSync(path.join(folder.path, 'app', inner), { recursive: true });
  folder.write(
    'app/Sweep/function.json',
    `{ // By hand\n"bindings": [{ "type": "timerTrigger", "schedule": "0 0 6 * * *" }] }`,
  );
  folder.write('app/net/Sharp.cs', '[Function("Sharp")] void Run([TimerTrigger("0 0 7 * * *")] TimerInfo timer) { }\n');
  folder.write('app/net/Sharp.csproj', '<Project />');
  folder.write('app/net/bin/Sharp/function.json', { bindings: [{ type: 'timerTrigger', schedule: '0 0 7 * * *' }] });
  folder.write('app/function_app.py', '@app.timer_trigger(schedule="0 0 8 * * *", arg_name="t")\ndef snake(t): pass\n');
  folder.write('app/page.tsx', 'export const page = <p>1</p>;\nexport const start = () => app.timer(options);\n');
  const built = 'const f=require("@azure/functions");f.app.timer("New",{schedule:"0 0 3 * * *",handler});';
  folder.write('app/dist/bundle.js', `${built}f.app.timer("Gone",{schedule:"0 0 4 * * *",handler});`);
  folder.write('app/build/torn.js', 'app.timer("Torn", {');
  folder.write('app/build/chart.js', 'not ( a source of the app');
  folder.write('app/node_modules/x/index.js', 'not ( a source of the app');
  folder.write(
    'app/local.settings.json',
    '{ /* local */ "Values": { "WHEN": "0 0 5 * * *", "WEBSITE_TIME_ZONE": "Europe/Lisbon" } }',
  );
});
afterAll(() => folder.remove());

function cronJob(job: string): string {
  return `apiVersion: batch/v1
kind: CronJob
metadata: { name: db.backup }
spec:
  schedule: "15 3 * * *"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      ${job}
      template: { spec: { containers: [{ name: one, image: pg }], restartPolicy: Never } }
`;
}

const read = (name: string): unknown => JSON.parse(fs.readFileSync(path.join(folder.path, name), 'utf8'));

describe.concurrent('cronlease import', () => {
  it('prints a jobs file, and notes on standard error that fit into a terminal', async () => {
    const { code, stdout, stderr } = await folder.run(['import', 'crontab', 'crontab', '--time-zone', 'Europe/Berlin']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      $schema: './node_modules/cronlease/schema/jobs.schema.json',
      revision: 1,
      jobs: { backup: { schedule: '30 2 * * *', timeZone: 'Europe/Berlin', description: 'Backup' } },
    });
    expect(stderr).toMatch(/^Left out: 1\ncrontab:3: @reboot warm\n {2}a start of the app/);
    expect(stderr).toContain('\ncrontab:4: MAILTO\n');
    expect(stderr).toMatch(/Handlers to write\nHANDLER +FROM\nbackup +crontab:2\n/);
    expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('reads UTF-16, which a redirection in PowerShell writes', async () => {
    const { code, stdout } = await folder.run(['import', 'crontab', 'wide-crontab']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('"30 2 * * *"')]);
  });

  it('writes a file that "validate" accepts, and replaces none without --force', async () => {
    const args = ['import', 'quartz', 'quartz.properties', '--time-zone', 'UTC', '--out', 'quartz.json'];
    expect(await folder.run(args)).toMatchObject({ code: 0, stdout: '' });
    expect(read('quartz.json')).toMatchObject({ revision: 1, jobs: { report: { schedule: '0 12 * * 1-5' } } });
    expect(await folder.run(['validate', '--file', 'quartz.json'])).toMatchObject({ code: 0 });
    const again = await folder.run(args);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('quartz.json exists already');
    expect(await folder.run([...args, '--force'])).toMatchObject({ code: 0 });
    expect(read('quartz.json')).toMatchObject({ revision: 2 });
    folder.write('broken.json', '{');
    expect(await folder.run([...args.slice(0, -1), 'broken.json', '--force'])).toMatchObject({ code: 0 });
    expect(read('broken.json')).toMatchObject({ revision: 1 });
  });

  it('leaves out a timeout that does not fit into functionTimeout', async () => {
    const { jobsFile, notes } = await folder.json<{ jobsFile: object; notes: object[] }>(
      folder.run(['import', 'k8s', 'long.yaml', '--json']),
    );
    expect(jobsFile).toMatchObject({ jobs: { 'db-backup': { schedule: '15 3 * * *', overlap: 'queue' } } });
    expect(jobsFile).not.toHaveProperty(['jobs', 'db-backup', 'timeout']);
    expect(notes).toContainEqual(
      expect.objectContaining({ file: 'long.yaml', line: 3, what: 'db.backup: timeout 2h', leftOut: false }),
    );
  });

  it('finds the timers of an app, with its settings', async () => {
    const { jobsFile, handlers, notes } = await folder.json<{ jobsFile: object; handlers: object[]; notes: object[] }>(
      folder.run(['import', 'timers', 'app', '--json']),
    );
    const timing = { timeZone: 'Europe/Lisbon' };
    expect(jobsFile).toMatchObject({
      jobs: { old: { schedule: '0 0 5 * * *', ...timing }, new: { schedule: '0 0 3 * * *', ...timing } },
    });
    expect(handlers).toEqual([
      { handler: 'old', name: 'Old', file: 'app/Old/function.json', line: 1 },
      { handler: 'sweep', name: 'Sweep', file: 'app/Sweep/function.json', line: 2 },
      { handler: 'snake', name: 'snake', file: 'app/function_app.py', line: 1 },
      { handler: 'sharp', name: 'Sharp', file: 'app/net/Sharp.cs', line: 1 },
      { handler: 'new', name: 'New', file: 'app/timers.ts', line: 2 },
    ]);
    expect(notes).toContainEqual(expect.objectContaining({ file: 'app/page.tsx', line: 2, leftOut: true }));
    expect(notes).toContainEqual(
      expect.objectContaining({ file: 'app/markup-and-timer.js', line: 2, what: 'its timers', leftOut: true }),
    );
    expect(notes.filter((note) => /markup\.js|other|Wide|Narrow/.test(String(Object(note).file)))).toEqual([]);
    // What was built of the sources adds nothing, and what has no source is named.
    const why = 'a build made this file, and no source that was read has it';
    expect(notes.filter((note) => /^app\/(dist|build|net\/bin)\//.test(String(Object(note).file)))).toEqual([
      {
        ...{ file: 'app/build/torn.js', line: 1, what: 'a timer', why, leftOut: true },
        remedy: 'Name the folder of its source, or this file: cronlease import timers app/build/torn.js',
      },
      {
        ...{ file: 'app/dist/bundle.js', line: 1, what: 'Gone', why, leftOut: true },
        remedy: 'Name the folder of its source, or this file: cronlease import timers app/dist/bundle.js',
      },
    ]);
  });

  it('writes no time zone for timers of an app that sets none', async () => {
    const { jobsFile } = await folder.json<{ jobsFile: { jobs: object } }>(
      folder.run(['import', 'timers', 'app/timers.ts', '--json']),
    );
    expect(jobsFile.jobs).toEqual({ new: { schedule: '0 0 3 * * *' } });
  });

  it('numbers jobs of one name, over several files', async () => {
    const { jobsFile } = await folder.json<{ jobsFile: { jobs: object } }>(
      folder.run(['import', 'crontab', 'crontab', 'crontab', '--json']),
    );
    expect(Object.keys(jobsFile.jobs)).toEqual(['backup', 'backup-2']);
  });

  it('notes that a file names no time zone', async () => {
    const { stderr } = await folder.run(['import', 'crontab', 'crontab']);
    expect(stderr).toContain('crontab:2: no time zone');
  });

  it('reads a user column, and standard input', async () => {
    const system = await folder.run(['import', 'crontab', '--system', 'system']);
    expect(JSON.parse(system.stdout)).toHaveProperty('jobs.rotate');
    expect(system.stderr).toContain('it ran as www-data');
    const [program, file] = folder.command;
    const input = '0 3 * * * /opt/tidy.sh\n';
    const piped = spawnSync(program, [file, 'import', 'crontab', '-'], { input, encoding: 'utf8' });
    expect(JSON.parse(piped.stdout)).toHaveProperty('jobs.tidy');
    expect(piped.stderr).toContain('-:1');
  });

  it('reads the INI file of Ofelia among crontabs', async () => {
    const { jobsFile, notes } = await folder.json<{ jobsFile: object; notes: object[] }>(
      folder.run(['import', 'crontab', 'crontab', 'ofelia.ini', '--json']),
    );
    expect(jobsFile).toMatchObject({ jobs: { flush: { schedule: '@every 10s' }, backup: {} } });
    expect(notes).toContainEqual(
      expect.objectContaining({ file: 'ofelia.ini', line: 4, what: '[job-run "old"]', leftOut: true }),
    );
  });

  it.each([
    [['crontab', 'only-reboot'], 1, 'no job could be made of only-reboot'],
    [['crontab', 'absent'], 1, 'absent cannot be read: ENOENT'],
    [['k8s', 'template.yaml'], 1, 'template.yaml:1: this is a Helm template'],
    [['crontab', 'app'], 2, 'app is a folder'],
    [['crontab', 'crontab', '--time-zone', 'Mars/Base'], 2, '--time-zone "Mars/Base" is not a time zone'],
    [['k8s', 'long.yaml', '--system'], 2, '--system is for crontab'],
    [['k8s', 'long.yaml', '--settings', 'x'], 2, '--settings is for timers'],
    [['k8s', 'long.yaml', '--force'], 2, '--force needs --out'],
    [['yaml', 'long.yaml'], 2, "value 'yaml' is invalid"],
    [['timers', 'app', '--settings', 'crontab'], 1, 'crontab:1: this is not JSON'],
  ])('refuses %s', async (args, code, message) => {
    const ended = await folder.run(['import', ...args]);
    expect(ended.stderr).toContain(message);
    expect(ended).toMatchObject({ code, stdout: '' });
  });

  it('takes the names that Windows has for time zones', async () => {
    folder.write('windows.json', { Values: { WHEN: '0 0 5 * * *', WEBSITE_TIME_ZONE: 'W. Europe Standard Time' } });
    const { jobsFile } = await folder.json<{ jobsFile: object }>(
      folder.run(['import', 'timers', 'app', '--settings', 'windows.json', '--json']),
    );
    expect(jobsFile).toMatchObject({ jobs: { new: { timeZone: 'Europe/Berlin' } } });
    folder.write('mars.json', { Values: { WHEN: '0 0 5 * * *', WEBSITE_TIME_ZONE: 'Mars Standard Time' } });
    const ended = await folder.run(['import', 'timers', 'app', '--settings', 'mars.json']);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('WEBSITE_TIME_ZONE "Mars Standard Time" is not a time zone');
  });

  it('lists the reasons with --json though nothing was imported', async () => {
    const { code, stdout, stderr } = await folder.run(['import', 'crontab', 'only-reboot', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'NothingImported' },
      jobsFile: { jobs: {} },
      handlers: [],
      notes: [{ file: 'only-reboot', line: 1, what: '@reboot warm', leftOut: true }],
    });
    expect(stderr).toContain('no job could be made of only-reboot');
  });

  it('prints an error as a document with --json', async () => {
    const ended = await folder.run(['import', 'k8s', 'template.yaml', '--json']);
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'InvalidSource' } });
  });
});
