import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');

/**
 * Bundles the programs of a benchmark, and runs its `main` with the command line.
 *
 * @param name of its scratch folder
 * @param entryPoints the source of each program, `main` among them
 * @returns the exit code
 */
export async function runBench(name, entryPoints) {
  // Inside bench, where programs find the project's packages.
  const folder = scratchFolder(path.join(root, 'bench/.tmp'), `${name}-`);
  await build({
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'warning',
    packages: 'external',
    entryPoints,
  });
  const { main } = createRequire(import.meta.url)(path.join(folder, 'main.js'));
  return main(process.argv.slice(2), root, folder);
}
