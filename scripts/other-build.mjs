// Bundles the chaos app over the library of another revision of this repository.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { toMinify, writeMinified } from './minify.mjs';

/** The revision cannot be built. The message gives the reason. */
export class OtherBuildError extends Error {}

/**
 * Writes `other-app.js` and `other-host.json` into the folder: this checkout's handlers over that revision's library,
 * with the packages of this checkout.
 * @returns the revision's short name
 */
export async function buildOther(root, revision, folder, options) {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  let commit;
  try {
    commit = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`).trim();
  } catch {
    throw new OtherBuildError(
      `--with ${revision}: this clone has no such revision. A shallow clone lacks older ones: git fetch --unshallow.`,
    );
  }
  const source = path.join(folder, 'other');
  mkdirSync(source);
  const archive = path.join(folder, 'other.tar');
  git('archive', '--format=tar', '-o', archive, commit, 'src', 'host.json', 'package.json', 'tsconfig.json');
  execFileSync('tar', ['-xf', archive, '-C', source]);
  for (const file of ['app', 'time.ts']) {
    cpSync(path.join(root, 'test/chaos', file), path.join(source, 'test/chaos', file), { recursive: true });
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(source, 'node_modules'), 'junction');
  const other = await build({
    ...options,
    ...toMinify,
    absWorkingDir: source,
    entryPoints: { 'other-app': path.join(source, 'test/chaos/app/app.ts') },
  });
  writeMinified(other);
  cpSync(path.join(source, 'host.json'), path.join(folder, 'other-host.json'));
  return commit.slice(0, 7);
}
