// Makes the tarball of the library: see USAGE.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bundleLibrary, TAKEN_IN } from './bundle-library.mjs';
import { flatTypes } from './flat-types.mjs';
import { removeWithThisProcess } from './remove-with-process.mjs';

const USAGE = `npm run pack -- [options]

Builds the library, writes its tarball, and prints the tarball's path. This folder is a function app, whose package.json
names the app as "main"; the package.json of the tarball names the library.

  --to DIR                   default: this folder
  --repository OWNER/NAME    on GitHub, for the links of the package
  --no-build                 takes dist/ as it is`;

const root = path.join(import.meta.dirname, '..');

const LIBRARY = 'dist/lib';

/** What package.json says of the app, and of work on it. */
const OF_THE_APP = ['private', 'scripts', 'allowScripts'];

function manifestOf(own, repository) {
  const rest = Object.fromEntries(Object.entries(own).filter(([name]) => !OF_THE_APP.includes(name)));
  const page = `https://github.com/${repository}`;
  const links = {
    repository: { type: 'git', url: `git+${page}.git` },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
  };
  const dependencies = Object.fromEntries(
    Object.entries(own.dependencies).filter(([name]) => !TAKEN_IN.includes(name)),
  );
  return { ...rest, dependencies, main: own.exports['.'].default, ...(repository === undefined ? {} : links) };
}

/** The sources whose types are those of schemas. */
const OF_SCHEMAS = ['client/types.ts', 'config/job-in-file.ts'];

/** The modules that an app requires, whose types it sees. */
const ENTRIES = ['index', 'client/index', 'runner/index', 'testing/index'];

/** Stages what a user needs: the library as few files, and the types that its entries name. */
async function stage(folder, files) {
  for (const file of [...files.filter((file) => file !== LIBRARY), 'README.md', 'LICENSE'])
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true });
  const library = path.join(folder, LIBRARY);
  await bundleLibrary(library);
  for (const file of ['client/index.mjs', 'client/index.d.mts'])
    cpSync(path.join(root, LIBRARY, file), path.join(library, file));
  const flat = flatTypes(OF_SCHEMAS);
  const types = new Map();
  const add = (file) => {
    if (types.has(file)) return;
    const index = OF_SCHEMAS.indexOf(file.replace(/d\.ts$/, 'ts'));
    const text = flat[index] ?? readFileSync(path.join(root, LIBRARY, file), 'utf8');
    // TypeScript 6 includes only the types that an app or a file names.
    const head = /\bNodeJS\.|'node:/.test(text) ? '/// <reference types="node" />\n' : '';
    // TypeScript 4 does not know the replaced form.
    types.set(file, head + text.replaceAll('export type *', 'export *'));
    for (const [, name] of text.matchAll(/(?:from|import\() ?['"](\.{1,2}\/[^'"]+)['"]/g))
      add(path.posix.join(path.posix.dirname(file), `${name.replace(/\.js$/, '')}.d.ts`));
  };
  for (const entry of ENTRIES) add(`${entry}.d.ts`);
  for (const [file, text] of types) {
    mkdirSync(path.dirname(path.join(library, file)), { recursive: true });
    writeFileSync(path.join(library, file), text);
  }
}

const { values } = parseArgs({
  options: {
    to: { type: 'string', default: root },
    repository: { type: 'string' },
    'no-build': { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help) console.log(USAGE);
else {
  if (!values['no-build'])
    execFileSync(process.execPath, [path.join(import.meta.dirname, 'build.mjs')], { stdio: 'inherit' });
  mkdirSync(path.join(root, '.tmp'), { recursive: true });
  const folder = mkdtempSync(path.join(root, '.tmp/pack-'));
  removeWithThisProcess(folder);
  const own = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  await stage(folder, own.files);
  const manifest = manifestOf(own, values.repository);
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const to = path.resolve(values.to);
  const args = ['pack', folder, '--json', '--ignore-scripts', '--pack-destination', to];
  const [packed] = JSON.parse(
    execFileSync('npm', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      shell: process.platform === 'win32',
    }),
  );
  console.log(path.join(to, packed.filename));
}
