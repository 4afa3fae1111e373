// Makes the tarball of the library: see USAGE.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { flatTypes } from './flat-types.mjs';
import { removeWithThisProcess } from './remove-with-process.mjs';

const USAGE = `npm run pack -- [options]

Builds the library, writes its tarball, and prints the tarball's path. This folder is a function app, whose package.json
names the app as "main"; the package.json of the tarball names the library.

  --to DIR                   default: this folder
  --repository OWNER/NAME    on GitHub, for the links of the package
  --no-build                 takes dist/ as it is`;

const root = path.join(import.meta.dirname, '..');

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
  return { ...rest, main: own.exports['.'].default, ...(repository === undefined ? {} : links) };
}

/** The sources whose types are those of schemas. */
const OF_SCHEMAS = ['client/types.ts', 'config/job-in-file.ts'];

/** Copies what a user needs: without maps, and without the lines that name them. */
function stage(folder, files) {
  for (const file of [...files, 'README.md', 'LICENSE']) {
    const filter = (from) => !from.endsWith('.map');
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true, filter });
  }
  for (const file of globSync('dist/**/*.{js,mjs}', { cwd: folder })) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    writeFileSync(path.join(folder, file), text.replace(/\n\/\/# sourceMappingURL=\S+\n*$/, '\n'));
  }
  // TypeScript 4 does not know it.
  for (const file of globSync('dist/lib/**/*.d.ts', { cwd: folder })) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    if (text.includes('export type *'))
      writeFileSync(path.join(folder, file), text.replaceAll('export type *', 'export *'));
  }
  for (const [index, types] of flatTypes(OF_SCHEMAS).entries()) {
    writeFileSync(path.join(folder, 'dist/lib', OF_SCHEMAS[index].replace(/ts$/, 'd.ts')), types);
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
  stage(folder, own.files);
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
