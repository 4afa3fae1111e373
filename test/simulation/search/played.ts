import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { type BundleKind, ofEachKind, withoutUncalled } from './bundle';
import { MIX_NAMES, type Mixture, PAIRS } from '../faults/mixes';

/** How many histories the builds of the mixes, and of their pairs, have played without a failure. */
export interface Played {
  /** The seed of the first history of each. */
  readonly first: number;
  readonly mixes: ReadonlyMap<Mixture, PlayedMix>;
}

interface PlayedMix {
  /** The beginning of a hash: see {@link hashOfBuild}. */
  readonly build: string;
  readonly histories: number;
}

/** Returns the hash of a mixture's build. */
export type BuildOf = (mixture: Mixture) => string;

/** Beyond the seeds of every test. */
const FIRST = 50_000_001;

/** What a file says of these builds. Another build's histories count for nothing. */
export function readPlayed(file: string, buildOf: BuildOf): Played {
  if (!existsSync(file)) return { first: FIRST, mixes: new Map() };
  const { first, mixes } = parsePlayed(readFileSync(file, 'utf8'));
  return { first, mixes: new Map([...mixes].filter(([mixture, { build }]) => build === buildOf(mixture))) };
}

export function parsePlayed(text: string): Played {
  const { first, mixes } = JSON.parse(text) as { readonly first: number; readonly mixes: Record<Mixture, PlayedMix> };
  return { first, mixes: new Map(Object.entries(mixes) as [Mixture, PlayedMix][]) };
}

/** One line for each that has played anything. */
export function writePlayed(file: string, { first, mixes }: Played): void {
  const lines = [...mixes].map(
    ([mixture, { build, histories }]) => `"${mixture}": { "build": "${build}", "histories": ${String(histories)} }`,
  );
  writeFileSync(file, `{\n  "first": ${String(first)},\n  "mixes": {\n    ${lines.join(',\n    ')}\n  }\n}\n`);
}

function countOf({ mixes }: Played, mixture: Mixture): number {
  return mixes.get(mixture)?.histories ?? 0;
}

/** The histories of all these mixtures, and of the one that has the fewest. */
export function totalsOf(played: Played, of: readonly Mixture[]): { readonly all: number; readonly least: number } {
  const counts = of.map((mixture) => countOf(played, mixture));
  return { all: counts.reduce((sum, count) => sum + count, 0), least: Math.min(...counts) };
}

/** Histories to play next: of that of these mixtures that has the fewest; undefined: each has its number. */
export function nextSlice(
  played: Played,
  of: readonly Mixture[],
  { each, atOnce }: { readonly each: number; readonly atOnce: number },
): { readonly mix: Mixture; readonly first: number; readonly histories: number } | undefined {
  const [mix] = of.toSorted((a, b) => countOf(played, a) - countOf(played, b));
  if (mix === undefined) return undefined;
  const histories = countOf(played, mix);
  if (histories >= each) return undefined;
  return { mix, first: played.first + histories, histories: Math.min(atOnce, each - histories) };
}

export function withSlice(
  played: Played,
  { mix, histories }: { readonly mix: Mixture; readonly histories: number },
  buildOf: BuildOf,
): Played {
  const entry = { build: buildOf(mix), histories: countOf(played, mix) + histories };
  return { ...played, mixes: new Map([...played.mixes, [mix, entry]]) };
}

/** The hash of each build. */
export async function buildsOf(root: string): Promise<BuildOf> {
  return ofEachKind([...MIX_NAMES, ...PAIRS], (kind) => hashOfBuild(root, kind));
}

/**
 * The same for two builds that play the same histories: of product and simulator, whatever their comments say, without
 * what these histories do not call.
 */
async function hashOfBuild(root: string, kind: BundleKind): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['test/simulation/search/worker.ts'],
    ...{ bundle: true, minify: true, write: false, platform: 'node', target: 'node22', format: 'cjs' },
    ...{ packages: 'external', logLevel: 'error', plugins: [withoutUncalled(kind)] },
  });
  const hash = createHash('sha256');
  for (const { contents } of outputFiles) hash.update(contents);
  return hash.digest('hex').slice(0, 12);
}
