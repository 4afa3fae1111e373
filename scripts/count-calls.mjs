// Counts the calls to storage of each situation on the emulator again, and writes them: npm run calls
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const folder = scratchFolder(path.join(root, '.tmp'), 'calls-');
const outfile = path.join(folder, 'calls.cjs');
await build({
  absWorkingDir: root,
  stdin: {
    contents: `
      import { writeFileSync } from 'node:fs';
      import { CALLS_FILE, callsText } from './scripts/calls';
      import { startAzurite } from './test/support/azurite';
      import { countSituations } from './test/support/count-situations';
      void (async () => {
        const azurite = await startAzurite();
        writeFileSync(CALLS_FILE, await callsText(await countSituations(azurite.connectionString)));
        // The deployment that was killed never ends by itself.
        process.exit();
      })();`,
    resolveDir: root,
  },
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  packages: 'external',
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, [outfile], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
