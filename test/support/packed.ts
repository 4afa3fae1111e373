import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { root } from './program';

/** The path of the library's tarball, made in a folder from what `npm run build` has written. */
export function packInto(folder: string): string {
  const args = [path.join(root, 'scripts/pack.mjs'), '--no-build', '--to', folder];
  return execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trim();
}
