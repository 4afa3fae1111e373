import { mkdtempSync } from 'node:fs';
import path from 'node:path';

/** A folder inside the repository, where programs find its packages. It is removed with the run of the tests. */
export function scratchFolder(name: string): string {
  const parent = process.env['SCRATCH'];
  if (parent === undefined) throw new Error('SCRATCH is unset: test/support/scratch-setup.mjs sets it.');
  return mkdtempSync(path.join(parent, `${name}-`));
}
