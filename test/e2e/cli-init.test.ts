import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli-build';

const FILES = [
  ...['.funcignore', '.gitignore', 'README.md', 'host.json', 'jobs.json', 'local.settings.json', 'package.json'],
  ...['src/app.ts', 'src/greet.test.ts', 'src/greet.ts', 'tsconfig.json'],
];
const root = path.join(__dirname, '../..');

let folder: CliFolder;
beforeAll(() => {
  folder = cliFolder();
});
afterAll(() => folder.remove());

const inApp = (app: string, file: string): string => fs.readFileSync(path.join(folder.path, app, file), 'utf8');
const filesIn = (app: string): string[] =>
  fs
    .readdirSync(path.join(folder.path, app), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(path.join(folder.path, app), path.join(entry.parentPath, entry.name)))
    .toSorted();

describe.concurrent('cronlease init', () => {
  it('writes an app, and prints the next commands in order', async () => {
    const { code, stdout } = await folder.run(['init', 'My Jobs']);
    expect(code).toBe(0);
    expect(filesIn('My Jobs')).toEqual(FILES);
    expect(JSON.parse(inApp('My Jobs', 'package.json'))).toMatchObject({ name: 'my-jobs', private: true });
    expect(inApp('My Jobs', 'README.md')).toMatch(/^# my-jobs\n/);
    expect(inApp('My Jobs', 'host.json')).toBe(fs.readFileSync(path.join(root, 'host.json'), 'utf8'));
    const [, pack, enter, install, ...rest] = stdout.trimEnd().split('\n');
    expect(pack).toBe(`  (cd ${root} && npm run pack)`);
    expect(enter).toBe("  cd 'My Jobs'");
    expect(install).toMatch(/^ {2}npm install \S+cronlease-\d+\.\d+\.\d+\.tgz$/);
    expect(rest).toEqual(['  npm test', '  npm start']);
    const { code: valid, stderr } = await folder.run(['validate'], {}, path.join(folder.path, 'My Jobs'));
    expect(valid, stderr).toBe(0);
  });

  it('has the pinned versions of this repository', async () => {
    await folder.run(['init', 'versions']);
    const own = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      readonly overrides: object;
      readonly engines: object;
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const { azurite, typescript } = own.devDependencies;
    expect(JSON.parse(inApp('versions', 'package.json'))).toMatchObject({
      ...{ overrides: own.overrides, engines: own.engines },
      devDependencies: { azurite, typescript },
    });
  });

  it('writes nothing where a file would be replaced, and names it', async () => {
    fs.mkdirSync(path.join(folder.path, 'taken/src'), { recursive: true });
    folder.write('taken/src/greet.ts', 'mine');
    folder.write('taken/.gitignore', 'mine');
    const { code, stdout, stderr } = await folder.run(['init', 'taken']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('taken has files that would be replaced: src/greet.ts, .gitignore. Name an empty folder');
    expect(filesIn('taken')).toEqual(['.gitignore', 'src/greet.ts']);
    const document = await folder.json<object>(folder.run(['init', 'taken', '--json']), 1);
    expect(document).toMatchObject({ error: { code: 'FileExists' } });
  });

  it('writes beside other files, into the current folder', async () => {
    fs.mkdirSync(path.join(folder.path, 'here'));
    folder.write('here/NOTES.md', 'mine');
    const { files, next } = await folder.json<{ files: string[]; next: string[] }>(
      folder.run(['init', '--json'], {}, path.join(folder.path, 'here')),
    );
    expect(files.toSorted()).toEqual(FILES);
    expect(next.filter((step) => step.startsWith('cd '))).toEqual([]);
    expect(filesIn('here')).toEqual([...FILES, 'NOTES.md'].toSorted());
  });
});
