import path from 'node:path';
import { seedsShown, writeCaught } from './caught';
import { MIX_NAMES, type Mixture, PAIRS } from '../faults/mixes';
import type { Planted } from '../faults/planted';
import { buildsOf, nextSlice, readPlayed, totalsOf, withSlice, writePlayed } from './played';
import {
  type Caught,
  type Progress,
  bundlesOf,
  catchPlanted,
  explainIn,
  searchHistories,
  searchSlices,
  withWorker,
} from './search';
import { SOAK_HELP, SoakOptionError, type SoakOptions, soakOptions } from './soak-options';

const PROGRESS_EVERY_MS = 60_000;
/** Histories of one mix before the count is kept. */
const SLICE = 500;
const BROKEN = 1;
const ASKED_BADLY = 2;

async function main(options: SoakOptions, root: string): Promise<number> {
  switch (options.kind) {
    case 'help':
      console.log(SOAK_HELP);
      return 0;
    case 'planted':
      return plantAll(root, options.all);
    case 'each':
      return soakEach(root, options);
    case 'replay':
      return withWorker(root, options.planted, (bundle) => replay(bundle, options.seed, options));
    case 'soak':
      return withWorker(root, options.planted, (bundle) => soak(bundle, options));
  }
}

async function replay(
  bundle: string,
  seed: number,
  { mix, planted }: { readonly mix: Mixture; readonly planted: Planted | undefined },
): Promise<number> {
  const { failures, text } = await explainIn(bundle, { seed, mix, planted: planted?.name });
  console.log(text);
  return failures.length > 0 ? BROKEN : 0;
}

async function soak(
  bundle: string,
  { mix, first, histories, minutes, planted }: Extract<SoakOptions, { kind: 'soak' }>,
): Promise<number> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  const limit = minutes === undefined ? Infinity : minutes * 60_000;
  const amount = [
    ...(histories === undefined ? [] : [`${String(histories)} histories`]),
    ...(minutes === undefined ? [] : [`${String(minutes)} minutes`]),
  ].join(' or ');
  console.log(`Histories of the mix ${mix} from seed ${String(first)} on, for ${amount}.`);
  let told = 0;
  const continues = (progress: Progress): boolean => {
    if (elapsed() - told > PROGRESS_EVERY_MS) {
      told = elapsed();
      console.log(`${(told / 60_000).toFixed(1)} min: ${String(progress.histories)} histories, all promises kept`);
    }
    return elapsed() < limit;
  };
  const range = histories === undefined ? { mix, first } : { mix, first, histories };
  const { histories: done, failures } = await searchHistories(bundle, range, continues);
  const [failure] = failures;
  if (failure === undefined) {
    console.log(`${String(done)} histories in ${(elapsed() / 60_000).toFixed(1)} min, all promises kept.`);
    return 0;
  }
  return replay(bundle, failure.seed, { mix, planted });
}

/** Plays every mix, or every pair, by turns, and keeps what has been played, so that a search may be interrupted. */
async function soakEach(
  root: string,
  { each, of, minutes = Infinity }: Extract<SoakOptions, { kind: 'each' }>,
): Promise<number> {
  const file = path.join(root, 'test/simulation/played.json');
  const until = performance.now() + minutes * 60_000;
  const mixtures = of === 'mixes' ? MIX_NAMES : PAIRS;
  const bundleOf = await bundlesOf(root, mixtures);
  const buildOf = await buildsOf(root);
  let played = readPlayed(file, buildOf);
  const every = of === 'mixes' ? 'Every mix' : 'Every pair of mixes';
  console.log(`${every} from seed ${String(played.first)} on, ${String(each)} histories each.`);
  let planned = played;
  const failure = await searchSlices(
    bundleOf,
    () => {
      const slice = performance.now() > until ? undefined : nextSlice(planned, mixtures, { each, atOnce: SLICE });
      if (slice !== undefined) planned = withSlice(planned, slice, buildOf);
      return slice;
    },
    (slice) => {
      played = withSlice(played, slice, buildOf);
      writePlayed(file, played);
      console.log(`${slice.mix}: ${String(played.mixes.get(slice.mix)?.histories)} histories, all promises kept`);
    },
  );
  if (failure !== undefined) {
    return replay(bundleOf(failure.mix), failure.seed, { mix: failure.mix, planted: undefined });
  }
  const { all, least } = totalsOf(played, mixtures);
  console.log(`${String(all)} histories, at least ${String(least)} of each, all promises kept.`);
  return 0;
}

async function plantAll(root: string, all: readonly Planted[]): Promise<number> {
  const told = ({ planted, failure, refused }: Caught): void => {
    const caught = failure === undefined ? 'not caught' : `seed ${String(failure.seed)}`;
    console.error(refused?.message ?? `${planted.name}: ${caught}`);
  };
  const results = await catchPlanted(root, told, { all, seeds: seedsShown(root) });
  writeCaught(root, results);
  console.log('To render the table of docs/evidence/reliability.md: npm run reference');
  return results.every(({ failure, refused }) => failure !== undefined && refused === undefined) ? 0 : BROKEN;
}

async function run(): Promise<number> {
  try {
    return await main(soakOptions(process.argv.slice(2), Date.now()), process.cwd());
  } catch (error) {
    if (!(error instanceof SoakOptionError)) throw error;
    console.error(error.message);
    return ASKED_BADLY;
  }
}

run().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = BROKEN;
  },
);
