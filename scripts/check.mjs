// Checks format, lint, types and unused code side by side, and prints what each command found: npm run check.
import { spawn } from 'node:child_process';

const COMMANDS = [
  ['prettier', '--check', '.'],
  ['oxlint', '--type-aware'],
  ['tsc', '-p', '.'],
  ['tsc', '-p', 'src/dashboard'],
  ['knip'],
];

/** Returns whether the command found nothing. Its output is printed when it ends, so that outputs do not mix. */
function run([program, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
    const output = [];
    child.stdout.on('data', (data) => output.push(data));
    child.stderr.on('data', (data) => output.push(data));
    child.once('error', (error) => {
      console.error(`${program} did not start: ${error.message}. Run this by "npm run check".`);
      resolve(false);
    });
    child.once('close', (code) => {
      const text = Buffer.concat(output).toString().trimEnd();
      if (code !== 0) console.error(`${[program, ...args].join(' ')} failed:\n${text}`);
      resolve(code === 0);
    });
  });
}

const results = await Promise.all(COMMANDS.map(run));
if (results.every(Boolean)) console.log('Format, lint, types and unused code: nothing found.');
else process.exitCode = 1;
