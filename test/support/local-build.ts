import { buildSync } from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './scratch';

const root = path.join(__dirname, '../..');

/**
 * Compiles `cronlease dev` from its sources, with the processes that it starts, into its own folder.
 * @returns the file to run with Node, with the options of `runDev` as JSON
 */
export function buildLocal(): string {
  const folder = scratchFolder('local');
  const cluster = path.join(root, 'src/local/cluster');
  buildSync({
    entryPoints: [
      ...['host', 'guard', 'azurite'].map((name) => path.join(cluster, `${name}-process.ts`)),
      path.join(root, 'src/cli/dev/run-dev.ts'),
    ],
    outdir: folder,
    entryNames: '[name]',
    bundle: true,
    external: ['azurite', '@azure/functions-core'],
    platform: 'node',
    format: 'cjs',
    logLevel: 'warning',
  });
  const main = path.join(folder, 'main.js');
  // No process.exit: an open handle must keep the process alive, so that a test notices it.
  fs.writeFileSync(
    main,
    "require('./run-dev').runDev(JSON.parse(process.argv[2])).catch((error) => {\n" +
      '  console.error(error.code === undefined ? error : error.message);\n' +
      "  process.exitCode = error.code === 'Usage' ? 2 : 1;\n" +
      '});\n',
  );
  return main;
}

/**
 * Copies a sample app into its own folder, inside the repository, so that it finds its packages.
 * @param files - further files to write there, or to replace: name and text
 */
export function copyApp(name: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = scratchFolder(`app-${name}`);
  fs.cpSync(path.join(__dirname, 'app', name), folder, { recursive: true });
  const sample = path.join(folder, 'local.settings.sample.json');
  if (fs.existsSync(sample)) fs.renameSync(sample, path.join(folder, 'local.settings.json'));
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, file), text);
  return folder;
}
