import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../src/cli/output';
import { changesBetween, devJobs, fileInSettings } from '../../src/cli/dev/dev-jobs';
import type { Printer } from '../../src/cli/dev/print';
import { codeFiles, type ReloadOptions, reloadOnChange, watchApp, watchFiles } from '../../src/cli/dev/reload';

let app: string;
const write = (file: string, content: unknown): string => {
  const full = path.join(app, file);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, typeof content === 'string' ? content : JSON.stringify(content));
  return full;
};
const merged = (): string => path.join(app, '.cronlease/jobs.json');

beforeEach(() => {
  app = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-dev-'));
});
afterEach(() => {
  fs.rmSync(app, { recursive: true });
});

describe('the jobs of cronlease dev', () => {
  it("are the app's own, in the file that the app names", () => {
    write('jobs.json', {
      revision: 3,
      jobs: { own: { schedule: '* * * * *' }, off: { schedule: '@daily', enabled: false } },
    });
    const jobs = devJobs({ app, file: undefined, more: undefined });
    expect(jobs.file).toBeUndefined();
    expect(jobs.jobs(Date.UTC(2026, 0, 1, 0, 0, 30))).toEqual([
      { name: 'own', next: Date.UTC(2026, 0, 1, 0, 1) },
      { name: 'off', next: undefined },
    ]);
    jobs.write();
    expect(fs.existsSync(merged())).toBe(false);
  });

  it('are those of another file too, in a file of their own that goes with the cluster', () => {
    write('jobs.json', { revision: 3, jobs: { own: { schedule: '* * * * *' }, both: { schedule: '@daily' } } });
    const more = write('more/jobs.json', {
      jobs: { hello: { schedule: '@every 10s' }, both: { schedule: '@hourly' } },
    });
    const jobs = devJobs({ app, file: undefined, more });
    jobs.write();
    expect(jobs.file).toBe(merged());
    expect(JSON.parse(fs.readFileSync(merged(), 'utf8'))).toEqual({
      revision: 3,
      jobs: { hello: { schedule: '@every 10s' }, both: { schedule: '@daily' }, own: { schedule: '* * * * *' } },
    });
    jobs.remove();
    expect(fs.existsSync(path.dirname(merged()))).toBe(false);
  });

  it('have the groups and the receivers of both files, the own ones first', () => {
    const job = { schedule: '* * * * *' };
    write('jobs.json', {
      notify: { to: ['ops'] },
      groups: { db: { maxParallel: 1 } },
      jobs: { own: { ...job, group: 'db' } },
    });
    const more = write('more.json', {
      notify: { to: ['others'] },
      groups: { db: { maxParallel: 9 }, disk: { maxParallel: 2 } },
      jobs: { hello: { ...job, group: 'disk' } },
    });
    const jobs = devJobs({ app, file: undefined, more });
    jobs.write();
    expect(JSON.parse(fs.readFileSync(merged(), 'utf8'))).toMatchObject({
      notify: { to: ['ops'] },
      groups: { db: { maxParallel: 1 }, disk: { maxParallel: 2 } },
      jobs: { own: { group: 'db' }, hello: { group: 'disk' } },
    });
  });

  it('are read again when only their groups or receivers have changed', () => {
    const file = (maxParallel: number) => ({
      groups: { db: { maxParallel } },
      jobs: { own: { schedule: '* * * * *', group: 'db' } },
    });
    write('jobs.json', file(3));
    const jobs = devJobs({ app, file: undefined, more: undefined });
    write('jobs.json', file(1));
    expect(jobs.reload()).toEqual({ kind: 'valid', changes: ['jobs.json: changed groups'] });
    write('jobs.json', { notify: { to: ['ops'] }, ...file(1) });
    expect(jobs.reload()).toEqual({ kind: 'valid', changes: ['jobs.json: changed notify'] });
  });

  it('are read again, and what has changed is named', () => {
    write('jobs.json', { revision: 1, jobs: { own: { schedule: '* * * * *' } } });
    const more = write('more.json', { jobs: { hello: { schedule: '@every 10s' } } });
    const jobs = devJobs({ app, file: undefined, more });
    jobs.write();
    write('jobs.json', {
      revision: 2,
      jobs: { own: { schedule: '@daily', lease: '20s' }, fresh: { schedule: '@hourly' } },
    });
    expect(jobs.reload()).toEqual({
      kind: 'valid',
      changes: ['jobs.json: changed own: schedule, lease', 'jobs.json: added fresh: @hourly', 'jobs.json: revision 2'],
    });
    expect(JSON.parse(fs.readFileSync(merged(), 'utf8'))).toMatchObject({ jobs: { fresh: { schedule: '@hourly' } } });
    expect(jobs.reload()).toEqual({ kind: 'valid', changes: [] });
  });

  it('stay as they are while the file is not valid', () => {
    write('jobs.json', { jobs: { own: { schedule: '* * * * *' } } });
    const jobs = devJobs({ app, file: undefined, more: undefined });
    write('jobs.json', { jobs: { own: { schedule: '61 * * * *' } } });
    expect(jobs.reload()).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('jobs.own.schedule') as unknown,
    });
    expect(jobs.jobs(0)).toMatchObject([{ name: 'own' }]);
  });

  it('leave an invalid file to the app, which lists its errors', () => {
    const own = write('jobs.json', '{"jobs": {"own": {}}}');
    const more = write('more.json', { jobs: { hello: { schedule: '@every 10s' } } });
    const jobs = devJobs({ app, file: undefined, more });
    jobs.write();
    expect(fs.readFileSync(merged(), 'utf8')).toBe(fs.readFileSync(own, 'utf8'));
  });

  it('are those of the file that the settings of the app name', () => {
    write('config/other.json', { jobs: { other: { schedule: '@daily' } } });
    write('local.settings.json', { Values: { CRONLEASE_JOBS_FILE: 'config/other.json' } });
    expect(fileInSettings(app, {})).toBe('config/other.json');
    expect(devJobs({ app, file: fileInSettings(app, {}), more: undefined }).jobs(0)).toMatchObject([{ name: 'other' }]);
    expect(fileInSettings(app, { CRONLEASE_JOBS_FILE: '' })).toBeUndefined();
    // The app refuses to start without it.
    expect(fileInSettings(app, { CRONLEASE_JOBS_FILE: 'none.json' })).toBeUndefined();
  });

  it('must be there where they are named', () => {
    expect(devJobs({ app, file: undefined, more: undefined }).jobs(0)).toEqual([]);
    expect(() => devJobs({ app, file: 'none.json', more: undefined })).toThrow(UsageError);
    expect(() => devJobs({ app, file: undefined, more: 'none.json' })).toThrow('--more-jobs: there is no file');
    const more = write('more.json', { jobs: {} });
    expect(() => devJobs({ app, file: undefined, more })).toThrow('--more-jobs adds jobs to');
  });

  it('differ by what is removed, too', () => {
    expect(changesBetween({ a: {}, b: { schedule: '@daily' } }, { b: { schedule: '@daily' } })).toEqual(['removed a']);
  });
});

describe('the code of an app', () => {
  it('is all in the folder of what "main" names, without packages', () => {
    write('package.json', { main: 'dist/*.js' });
    expect(codeFiles(app)).toBeUndefined();
    for (const file of ['dist/app.js', 'dist/lib/a.cjs', 'dist/node_modules/x/i.js', 'dist/notes.txt', 'test/a.js']) {
      write(file, '');
    }
    const found = codeFiles(app)?.map((file) => path.relative(app, file));
    expect(found?.toSorted()).toEqual(['dist/app.js', 'dist/lib/a.cjs']);
    write('package.json', { main: 'index.js' });
    write('index.js', '');
    expect(codeFiles(app)?.length).toBe(4);
  });

  it('is found beside folders that must not be read', () => {
    write('package.json', { main: 'index.js' });
    const own = write('index.js', '');
    write('data/base.js', '');
    const read = fs.readdirSync.bind(fs);
    const spy = vi.spyOn(fs, 'readdirSync').mockImplementation(((folder: string, options: never) => {
      if (folder.endsWith('data')) throw systemError('EACCES', 'scandir');
      return read(folder, options);
    }) as never);
    expect(codeFiles(app)).toEqual([own]);
    spy.mockRestore();
  });

  it('is reported when it has changed, once it changes no longer', async () => {
    const file = write('a.js', '1');
    const other = path.join(app, 'b.js');
    const seen: (readonly string[])[] = [];
    const watch = watchFiles(() => [file, other]);
    // Before it starts: an instance may have read the file before.
    fs.writeFileSync(file, 'longer');
    watch.start(
      (files) => {
        seen.push(files);
        return Promise.resolve();
      },
      () => undefined,
    );
    fs.writeFileSync(other, 'new');
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual([[file, other]]);
    fs.rmSync(other);
    await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toEqual([other]);
    watch.stop();
  });
});

describe('a change that a full disk keeps from the instances', () => {
  it('is told once, and the next one is followed', async () => {
    write('package.json', { main: 'index.js' });
    write('index.js', '');
    const jobsOf = (revision: number) => ({ revision, jobs: { a: { schedule: '@daily' } } });
    write('jobs.json', jobsOf(1));
    const told: string[] = [];
    const own = devJobs({ app, file: undefined, more: undefined });
    let isFull = true;
    const jobs: typeof own = {
      ...own,
      reload() {
        if (isFull) throw systemError('ENOSPC', 'write');
        return own.reload();
      },
    };
    const printer: Partial<Printer> = { error: (text) => told.push(text), note: (text) => told.push(text) };
    const cluster = { restart: async () => void told.push('restarted') };
    const place = { app, main: undefined, build: undefined, jobs };
    const watch = watchApp(place);
    const options = { ...place, printer, cluster, isEnding: () => false };
    reloadOnChange(watch, options as unknown as ReloadOptions);
    write('jobs.json', jobsOf(22));
    await expect.poll(() => told, { timeout: 20_000 }).toEqual([expect.stringMatching(/ENOSPC.*\n.*continue/)]);
    isFull = false;
    write('jobs.json', jobsOf(333));
    await expect.poll(() => told.at(-1), { timeout: 20_000 }).toBe('restarted');
    watch.stop();
  });
});

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
}
