import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'esbuild';
import { build } from 'esbuild';
import { parseSync, Visitor } from 'oxc-parser';
import type { MixName, Mixture } from '../faults/mixes';
import { mixesIn } from '../faults/mixes';
import type { Edit, Planted } from '../faults/planted';

/** A rule of the product has moved, and its planted fault no longer fits. */
export class PlantingError extends Error {
  readonly code = 'Planting';
  override readonly name = 'PlantingError';
}

/**
 * Modules that the histories of one mix alone call, or of none: only `LeaderElection` opens stores of servers. They
 * bring others along. The bundle of a mix that does not call them stays the same when they change.
 */
const CALLED_BY: readonly (readonly [module: string, mix: MixName | 'none'])[] = [
  ['src/stores/open.ts', 'none'],
  ['test/simulation/world/failover.ts', 'failover'],
  ['test/simulation/faults/mix-failover.ts', 'failover'],
  ['test/simulation/world/candidates.ts', 'elections'],
  ['test/simulation/faults/mix-elections.ts', 'elections'],
];

/** The mixes of a mixture that call modules of their own. Mixtures of one kind have the same bundle. */
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
 * @throws PlantingError when a function does not contain the text to replace exactly once
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

/** The files that a planted fault changes, with their new texts. */
export function plantedSources(root: string, { name, edits }: Planted): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const absolute = path.join(root, 'src', edit.file);
    const text = changed.get(absolute) ?? readFileSync(absolute, 'utf8');
    const places = placesOf(text, edit);
    const [place, ...others] = places;
    if (place === undefined || others.length > 0) {
      throw new PlantingError(
        `"${name}" cannot be planted: ${whereOf(edit)} has ${String(places.length)} times, not once, the text ` +
          `${JSON.stringify(edit.from)}. Follow the rule to where it is now.`,
      );
    }
    changed.set(absolute, text.slice(0, place) + edit.to + text.slice(place + edit.from.length));
  }
  return changed;
}

function whereOf({ file, in: rule }: Edit): string {
  return rule === undefined ? `src/${file}` : `${rule} in src/${file}`;
}

/** The position of an edit's text in its function. */
function placesOf(text: string, { file, in: rule, from }: Edit): number[] {
  const spans = rule === undefined ? [{ start: 0, end: text.length }] : spansOf(file, text, rule);
  const places = new Set<number>();
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + 1)) {
    if (spans.some(({ start, end }) => at >= start && at + from.length <= end)) places.add(at);
  }
  return [...places];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The functions, methods and constants of a name, each with its whole declaration. */
function spansOf(file: string, text: string, name: string): Span[] {
  const found: Span[] = [];
  const add = ({ start, end }: Span): void => {
    found.push({ start: text.lastIndexOf('\n', start) + 1, end: Math.max(end, text.indexOf('\n', end)) });
  };
  const isCalled = (key: { readonly type: string; readonly name?: unknown } | null): boolean =>
    key?.type === 'Identifier' && key.name === name;
  new Visitor({
    FunctionDeclaration: (node) => {
      if (isCalled(node.id)) add(node);
    },
    VariableDeclarator: (node) => {
      if (isCalled(node.id)) add(node);
    },
    MethodDefinition: (node) => {
      if (isCalled(node.key)) add(node);
    },
    Property: (node) => {
      if (isCalled(node.key) && node.value.type.includes('Function')) add(node);
    },
  }).visit(parseSync(file, text).program);
  return found;
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
