import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'esbuild';
import { build } from 'esbuild';
import type { Planted } from '../faults/planted';

/** A rule of the product has moved, and what was to be planted there no longer fits. */
export class PlantingError extends Error {
  readonly code = 'Planting';
  override readonly name = 'PlantingError';
}

/**
 * Bundles the simulator's worker with the product's own source, a fault planted in it or not, into one file that any
 * thread can run.
 *
 * @param root the project's folder
 * @throws PlantingError when a text that is to be replaced is not there exactly once
 */
export async function bundleWorker(root: string, outfile: string, planted?: Planted): Promise<void> {
  // Before esbuild starts: its errors would hide this one.
  const changed = planted === undefined ? new Map<string, string>() : plantedSources(root, planted);
  await build({
    absWorkingDir: root,
    entryPoints: ['test/simulation/search/worker.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    packages: 'external',
    sourcemap: 'inline',
    sourcesContent: false,
    logLevel: 'error',
    plugins: [replaceSources(changed)],
  });
}

/** The files that a planted fault changes, as they are then. */
export function plantedSources(root: string, { name, edits }: Planted): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const { file, from, to } of edits) {
    const absolute = path.join(root, 'src', file);
    const text = changed.get(absolute) ?? readFileSync(absolute, 'utf8');
    const found = text.split(from).length - 1;
    if (found !== 1) {
      throw new PlantingError(
        `"${name}" cannot be planted: src/${file} has ${String(found)} times, not once, the text ${JSON.stringify(from)}. ` +
          'Follow the rule to where it is now.',
      );
    }
    changed.set(
      absolute,
      text.replace(from, () => to),
    );
  }
  return changed;
}

function replaceSources(changed: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'planted',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path: file }) => {
        const contents = changed.get(file);
        return contents === undefined ? undefined : { contents, loader: 'ts' };
      });
    },
  };
}
