import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import type { BundleKind } from './bundle';
import { ofEachMix, withoutUncalled } from './bundle';
import type { MixName } from '../faults/mixes';
import { MIX_NAMES } from '../faults/mixes';

/** How many histories the builds of the mixes have played without a failure. */
export interface Played {
  /** The seed of the first history of each mix. */
  readonly first: number;
  readonly mixes: Readonly<Record<MixName, PlayedMix>>;
}

interface PlayedMix {
  /** The beginning of a hash: see {@link hashOfBuild}. */
  readonly build: string;
  readonly histories: number;
}

/** The hash of each mix's build. */
export type Builds = Readonly<Record<MixName, string>>;

/** Beyond the seeds of every test. */
const FIRST = 50_000_001;

function ofEach(played: (mix: MixName) => PlayedMix): Played['mixes'] {
  return Object.fromEntries(MIX_NAMES.map((mix) => [mix, played(mix)])) as Record<MixName, PlayedMix>;
}

/** Nothing played yet. */
export function unplayed(builds: Builds): Played {
  return { first: FIRST, mixes: ofEach((mix) => ({ build: builds[mix], histories: 0 })) };
}

/** What a file says of these builds. Another build's histories count for nothing, and a mix that is new has none. */
export function readPlayed(file: string, builds: Builds): Played {
  const nothing = unplayed(builds);
  if (!existsSync(file)) return nothing;
  const { first, mixes } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly first: number;
    readonly mixes: Partial<Played['mixes']>;
  };
  return {
    first,
    mixes: ofEach((mix) => {
      const kept = mixes[mix];
      return kept?.build === builds[mix] ? kept : nothing.mixes[mix];
    }),
  };
}

export function writePlayed(file: string, played: Played): void {
  writeFileSync(file, `${JSON.stringify(played, undefined, 2)}\n`);
}

/** The histories of all mixes, and of the one that has the fewest. */
export function totalsOf({ mixes }: Played): { readonly all: number; readonly least: number } {
  const counts = Object.values(mixes).map(({ histories }) => histories);
  return { all: counts.reduce((sum, count) => sum + count, 0), least: Math.min(...counts) };
}

/** Histories to play next: of the mix that has the fewest, at most `atOnce`; undefined: each mix has its number. */
export function nextSlice(
  { first, mixes }: Played,
  each: number,
  atOnce: number,
): { readonly mix: MixName; readonly first: number; readonly histories: number } | undefined {
  const [mix] = MIX_NAMES.toSorted((a, b) => mixes[a].histories - mixes[b].histories);
  if (mix === undefined) return undefined;
  const { histories } = mixes[mix];
  if (histories >= each) return undefined;
  return { mix, first: first + histories, histories: Math.min(atOnce, each - histories) };
}

export function withSlice(
  { first, mixes }: Played,
  { mix, histories }: { readonly mix: MixName; readonly histories: number },
): Played {
  const before = mixes[mix];
  return { first, mixes: { ...mixes, [mix]: { ...before, histories: before.histories + histories } } };
}

/** The hash of each mix's build. */
export async function buildsOf(root: string): Promise<Builds> {
  return ofEachMix((kind) => hashOfBuild(root, kind));
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
