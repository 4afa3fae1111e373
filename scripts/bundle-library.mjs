// The library as few files: what the tarball has in place of dist/lib.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';

const root = path.join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);

/** What an app requires, and what the commands start as separate processes. */
const ENTRIES = [
  'index',
  'client/index',
  'runner/index',
  'testing/index',
  'functions/register',
  'cli/main',
  'drill-app',
  ...['azurite', 'guard', 'host'].map((name) => `local/cluster/${name}-process`),
];

/**
 * Packages that become part of the files. Their code needs nothing of Node, and no app shares an instance with them.
 * Decision 122.
 */
export const TAKEN_IN = ['acorn', 'commander', 'cron-parser', 'json5', 'saxes', 'yaml', 'zod'];

/** Packages that cost as much to load as the rest together. They are loaded when one of their exports is first used. */
const LATE = ['@azure/storage-blob'];

const packageOf = (id) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id?.replaceAll('\\', '/'))?.[0];
const isTakenIn = (id, importer) => TAKEN_IN.includes(id) || packageOf(importer) !== undefined;
const isPackage = (id) => /^[@a-z]/.test(id);
const isLate = (id, importer) => LATE.includes(id) && importer !== `\0${id}`;

const REGISTER = './functions/register.js';

/** What `require('cronlease')` would load only for one call: the coordinator with its packages. */
const lateParts = {
  name: 'late-parts',
  resolveId(source, importer) {
    if (source === REGISTER) return { id: source, external: true };
    if (source === './functions/register' && importer === path.join(root, 'src/index.ts')) return '\0register';
    return isLate(source, importer) ? `\0${source}` : undefined;
  },
  load(id) {
    if (id === '\0register')
      return `export const registerCoordinator = (options) => require('${REGISTER}').registerCoordinator(options);`;
    const late = LATE.find((name) => id === `\0${name}`);
    if (late === undefined) return undefined;
    const getters = Object.keys(require(late)).map((name) => `get ${name}() { return require('${late}').${name}; }`);
    return `module.exports = { ${getters.join(', ')} };`;
  },
};

/** Code that names its own folder means the one of its source, wherever it ends up. */
const ownFolders = {
  name: 'own-folders',
  transform(code, id) {
    if (!id.startsWith(path.join(root, 'src/')) || !code.includes('__dirname')) return undefined;
    const below = JSON.stringify(path.relative(path.join(root, 'src'), path.dirname(id)));
    return code.replaceAll('__dirname', `require('node:path').join(OWN_FOLDER, ${below})`);
  },
  renderChunk(code, { fileName }) {
    const up = JSON.stringify(path.relative(path.dirname(fileName), '.'));
    return code.replaceAll('OWN_FOLDER', `__dirname, ${up}`);
  },
};

/** What `npm run build` has made of src/dashboard. */
const dashboard = {
  name: 'dashboard',
  resolveId: (source) =>
    source.endsWith('/dashboard/files.js') ? path.join(root, 'dist/lib/dashboard/files.js') : undefined,
};

/** Writes the files below a folder. Decision 121. */
export async function bundleLibrary(folder) {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, path.join(root, 'src', `${entry}.ts`)])),
    platform: 'node',
    // Of a package as an ES module, only the used part is taken in.
    resolve: { mainFields: ['module', 'main'] },
    external: (id, importer) => isBuiltin(id) || (isPackage(id) && !isTakenIn(id, importer) && !isLate(id, importer)),
    plugins: [lateParts, ownFolders, dashboard],
  });
  const { output } = await build.write({
    dir: folder,
    format: 'cjs',
    chunkFileNames: 'part-[name]-[hash].js',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(output));
}

/** The licenses of the packages that were taken in. */
function licensesOf(output) {
  const folders = output.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? []));
  const texts = [...new Set(folders)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, author, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
      const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: folder });
      const text = file === undefined ? `${license}, ${author}` : readFileSync(path.join(folder, file), 'utf8');
      return `${name}\n\n${text.trim()}\n`;
    });
  return texts.join('\n---\n\n');
}
