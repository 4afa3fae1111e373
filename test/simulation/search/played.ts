import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { noServers } from './bundle';
import type { MixName } from '../faults/mixes';
import { MIX_NAMES } from '../faults/mixes';

/** How many histories of each mix one build has played without a failure, from the seed `first` on. */
export interface Played {
  /** The beginning of a hash: see {@link hashOfBuild}. */
  readonly build: string;
  readonly first: number;
  readonly histories: Readonly<Record<MixName, number>>;
}

/** Beyond the seeds of every test. */
const FIRST = 50_000_001;

/** Nothing played yet. */
export function unplayed(hash: string): Played {
  const none = Object.fromEntries(MIX_NAMES.map((mix) => [mix, 0]));
  return { build: hash, first: FIRST, histories: none as Record<MixName, number> };
}

/** What a file says of this build. Another build's histories count for nothing, and a mix that is new has none. */
export function readPlayed(file: string, hash: string): Played {
  const nothing = unplayed(hash);
  if (!existsSync(file)) return nothing;
  const kept = JSON.parse(readFileSync(file, 'utf8')) as Played;
  if (kept.build !== hash) return nothing;
  return { ...kept, histories: { ...nothing.histories, ...kept.histories } };
}

export function writePlayed(file: string, played: Played): void {
  writeFileSync(file, `${JSON.stringify(played, undefined, 2)}\n`);
}

/** Histories to play next: of the mix that has the fewest, at most `atOnce`; undefined: each mix has its number. */
export function nextSlice(
  { first, histories }: Played,
  each: number,
  atOnce: number,
): { readonly mix: MixName; readonly first: number; readonly histories: number } | undefined {
  const [mix] = MIX_NAMES.toSorted((a, b) => histories[a] - histories[b]);
  if (mix === undefined || histories[mix] >= each) return undefined;
  return { mix, first: first + histories[mix], histories: Math.min(atOnce, each - histories[mix]) };
}

export function withSlice(played: Played, { mix, histories }: { readonly mix: MixName; readonly histories: number }) {
  return { ...played, histories: { ...played.histories, [mix]: played.histories[mix] + histories } };
}

/**
 * The same for two builds that play the same histories: of product and simulator, whatever their comments say, without
 * what no history can call.
 */
export async function hashOfBuild(root: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['test/simulation/search/worker.ts'],
    ...{ bundle: true, minify: true, write: false, platform: 'node', target: 'node22', format: 'cjs' },
    ...{ packages: 'external', logLevel: 'error', plugins: [noServers] },
  });
  const hash = createHash('sha256');
  for (const { contents } of outputFiles) hash.update(contents);
  return hash.digest('hex').slice(0, 12);
}
