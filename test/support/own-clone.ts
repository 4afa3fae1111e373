import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './scratch';

const ROOT = path.join(__dirname, '../..');
/** Everything that `npm run build` and `npm run package` read. */
const PARTS = ['bin', 'host.json', 'jobs.json', 'package.json', 'prices.json', 'samples'];
const SOURCE = ['schema', 'scripts', 'src', 'tsconfig.build.json', 'tsconfig.json'];

/** Two handlers of someone's own, as README adds one, each with an input to check. */
const HANDLERS = `
import * as z from 'zod';
import { type Handlers, defineFanOut, defineJob } from '../index';

export const handlers: Handlers = {
  greet: defineJob({
    input: z.strictObject({ name: z.string() }),
    run: (_context, { name }) => Promise.resolve({ greeted: name }),
  }),
  'greet-all': defineFanOut({
    plan: () => Promise.resolve(['you']),
    each: (_context, name) => Promise.resolve(name),
    gather: () => Promise.resolve({}),
  }),
};
`;

/** A clone of this repository with its own handlers, built. Its jobs file has no job. */
export function ownClone(): string {
  const clone = scratchFolder('own-clone');
  for (const part of [...PARTS, ...SOURCE]) {
    mkdirSync(path.dirname(path.join(clone, part)), { recursive: true });
    cpSync(path.join(ROOT, part), path.join(clone, part), { recursive: true });
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(clone, 'node_modules'));
  writeFileSync(path.join(clone, 'src/jobs/index.ts'), HANDLERS);
  execFileSync(process.execPath, [path.join(clone, 'scripts/build.mjs')], { cwd: clone, stdio: 'pipe' });
  return clone;
}
