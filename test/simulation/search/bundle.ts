import path from 'node:path';
import { type Plugin, build } from 'esbuild';
import { type MixName, type Mixture, mixesIn } from '../faults/mixes';
import type { Planted } from '../faults/planted';
import { plantedSources } from './planting';

/**
 * Modules that only the histories of one mix call, or none do: only `LeaderElection` opens stores of servers. They
 * bring others along. The bundle of a mix that does not call them stays the same when they change.
 */
const CALLED_BY: readonly (readonly [module: string, mix: MixName | 'none'])[] = [
  ['src/stores/open.ts', 'none'],
  ['test/simulation/world/failover.ts', 'failover'],
  ['test/simulation/faults/mix-failover.ts', 'failover'],
  ['test/simulation/world/candidates.ts', 'elections'],
  ['test/simulation/faults/mix-elections.ts', 'elections'],
];

/** The mixes of a mixture that call modules which others do not. Mixtures of one kind have the same bundle. */
export type BundleKind = readonly MixName[];

function kindOf(mixture: Mixture): BundleKind {
  return mixesIn(mixture)?.filter((mix) => CALLED_BY.some(([, caller]) => caller === mix)) ?? [];
}

/** Makes something once for each kind of these mixtures. */
export async function ofEachKind(
  mixtures: readonly Mixture[],
  make: (kind: BundleKind) => Promise<string>,
): Promise<(mixture: Mixture) => string> {
  const made = new Map<string, string>();
  for (const kind of mixtures.map(kindOf)) {
    if (!made.has(kind.join())) made.set(kind.join(), await make(kind));
  }
  return (mixture) => made.get(kindOf(mixture).join()) ?? '';
}

/**
 * Leaves out what histories of these mixes do not call. A call of it fails the history.
 *
 * @param kind undefined: all mixes
 */
export function withoutUncalled(kind: BundleKind | undefined): Plugin {
  const uncalled = CALLED_BY.filter(([, caller]) => caller === 'none' || kind?.includes(caller) === false);
  const contents =
    'module.exports = new Proxy({}, { get: (_, name) => () => { throw new Error(`a history called ${name}`) } });';
  return {
    name: 'without-uncalled',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: file }) =>
        uncalled.some(([module]) => file.endsWith(path.normalize(`/${module}`)))
          ? { contents, loader: 'js' }
          : undefined,
      );
    },
  };
}

/**
 * Bundles the simulator's worker with the product's own source, a fault planted in it or not, into one file that any
 * thread can run.
 *
 * @param root the project's folder
 * @param kind of the mixes that it plays; undefined: all
 * @throws PlantingError when a rule does not contain what is to be changed exactly once
 */
export async function bundleWorker(root: string, outfile: string, planted?: Planted, kind?: BundleKind): Promise<void> {
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
    plugins: [withoutUncalled(kind), replaceSources(changed)],
  });
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
