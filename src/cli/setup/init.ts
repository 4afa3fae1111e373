import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isObject } from '../../core/metadata';
import { VERSION } from '../../version';
import { answer, CliError, OWN } from '../output';

/** The files of a new app, and their places below the folder of this package. npm packs no file named .gitignore. */
const FILES = {
  'host.json': 'host.json',
  'jobs.json': 'template/jobs.json',
  'local.settings.json': 'template/settings.json',
  'tsconfig.json': 'template/tsconfig.json',
  'src/app.ts': 'template/src/app.ts',
  'src/greet.ts': 'template/src/greet.ts',
  'src/greet.test.ts': 'template/src/greet.test.ts',
  '.gitignore': 'template/gitignore',
  '.funcignore': 'template/funcignore',
  'README.md': 'template/README.md',
};

/** `cronlease init`: writes a small app. It writes nothing if it would replace a file. */
export function init(folder = '.', { json }: { readonly json?: boolean }): number {
  const name = appNameOf(folder);
  const files = [
    { file: 'package.json', text: packageJson(name) },
    ...Object.entries(FILES).map(([file, template]) => ({
      file,
      text: read(template).replaceAll(/^# NAME$/gm, `# ${name}`),
    })),
  ];
  const there = files.map(({ file }) => file).filter((file) => existsSync(path.join(folder, file)));
  if (there.length > 0) {
    const message = `${folder} has files that would be replaced: ${there.join(', ')}. Name an empty folder`;
    throw new CliError('FileExists', message);
  }
  for (const { file, text } of files) {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text, { flag: 'wx' });
  }
  const steps = nextSteps(folder);
  const whole = path.resolve(folder);
  return answer({ json }, { folder: whole, files: files.map(({ file }) => file), next: steps }, () =>
    [`Wrote an app of ${files.length} files to ${whole}. Next:`, ...steps.map((step) => `  ${step}`)].join('\n'),
  );
}

/** A name that npm accepts for a private package. */
function appNameOf(folder: string): string {
  const name = path
    .basename(path.resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'scheduled-jobs' : name;
}

/** The development tools have the versions that this build was tested with. */
function packageJson(name: string): string {
  const own: unknown = JSON.parse(read('package.json'));
  const member = (key: string): Readonly<Record<string, unknown>> => {
    const value = isObject(own) ? own[key] : undefined;
    if (!isObject(value)) throw new Error(`package.json of cronlease has no ${key}`);
    return value;
  };
  const devDependencies = member('devDependencies');
  const tools = ['@types/node', 'azurite', 'typescript'].map((tool) => [tool, devDependencies[tool]] as const);
  const content = {
    name,
    private: true,
    main: 'dist/app.js',
    scripts: {
      build: 'tsc',
      start: 'cronlease dev --build tsc',
      test: 'tsc && node --test "dist/**/*.test.js"',
    },
    engines: member('engines'),
    devDependencies: Object.fromEntries(tools),
    overrides: member('overrides'),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function read(file: string): string {
  return readFileSync(path.join(OWN, file), 'utf8');
}

/** The library is on no registry: its tarball is packed in the clone. */
function nextSteps(folder: string): readonly string[] {
  const tarball = `cronlease-${VERSION}.tgz`;
  const isClone = existsSync(path.join(OWN, 'src'));
  const place = isClone ? shorter(path.join(OWN, tarball), folder) : `../cronlease/${tarball}`;
  const pack = isClone
    ? `(cd ${quoted(OWN)} && npm run pack)`
    : 'npm run pack   # in a clone of cronlease, after npm ci';
  const go = path.resolve(folder) === process.cwd() ? [] : [`cd ${quoted(folder)}`];
  return [pack, ...go, `npm install ${quoted(place)}`, 'npm test', 'npm start'];
}

/** A path as it is, or relative to a folder. */
function shorter(file: string, folder: string): string {
  const relative = path.relative(folder, file);
  return relative.length < file.length ? relative : file;
}

function quoted(text: string): string {
  return /^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
