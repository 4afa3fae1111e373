import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { bundleWorker, ofEachKind } from './bundle';
import { onAllCores } from './cores';
import type { Subject } from './explain';
import { scratchFolder } from '../../support/scratch';
import type { Mixture } from '../faults/mixes';
import { PLANTED, type Planted } from '../faults/planted';
import { PlantingError, plantedSources } from './planting';
import type { Failure, Found, Request } from './worker';

/** The most histories in one task of a core. */
const AT_ONCE = 20;
/** Within this many histories each planted fault must be caught. */
export const WITHIN = 2_000;

/** Bundles the worker, and passes the file to `use`. */
export async function withWorker<T>(
  root: string,
  planted: Planted | undefined,
  use: (bundle: string) => Promise<T>,
): Promise<T> {
  const bundle = bundleFile(planted?.name ?? 'worker');
  await bundleWorker(root, bundle, planted);
  return use(bundle);
}

/** Bundles the worker once for each kind of these mixtures. */
export async function bundlesOf(root: string, mixtures: readonly Mixture[]): Promise<(mixture: Mixture) => string> {
  return ofEachKind(mixtures, async (kind) => {
    const file = bundleFile(`worker-${kind.join('-')}`);
    await bundleWorker(root, file, undefined, kind);
    return file;
  });
}

function bundleFile(name: string): string {
  return path.join(scratchFolder('simulation'), `${name}.cjs`);
}

export interface Progress {
  readonly histories: number;
  readonly failures: readonly Failure[];
}

/** Which histories. */
export interface Range {
  readonly mix: Mixture;
  readonly first: number;
  readonly histories?: number;
  readonly stopAtFirst?: boolean;
}

/**
 * Runs histories on all cores, lowest seeds first, until one fails, all are done, or the caller wants no more.
 *
 * @returns failures by seed
 */
export async function searchHistories(
  bundle: string,
  { mix, first, histories = Infinity, stopAtFirst = true }: Range,
  continues: (progress: Progress) => boolean = () => true,
): Promise<Progress> {
  const failures: Failure[] = [];
  let done = 0;
  let next = first;
  // Few histories are shared among the cores too.
  const atOnce = Math.min(AT_ONCE, Math.ceil(histories / availableParallelism()));
  await onAllCores(
    () => {
      const count = Math.min(atOnce, first + histories - next);
      if (count <= 0 || (stopAtFirst && failures.length > 0) || !continues({ histories: done, failures }))
        return undefined;
      next += count;
      return { bundle, request: { kind: 'search', mix, first: next - count, count, stopAtFirst } };
    },
    (_task, found) => {
      done += found.histories;
      failures.push(...found.failures);
    },
  );
  return { histories: done, failures: failures.sort((a, b) => a.seed - b.seed) };
}

/** Histories that count once all of them are played. */
export interface Slice extends Pick<Range, 'mix' | 'first'> {
  readonly histories: number;
}

/**
 * Plays slice after slice on all cores, until one history fails or there are no more. The workers stay: a new one plays
 * slowly until its code is compiled, which cost a fifth of the time.
 *
 * @param played called with each slice that is played without a failure, in order
 */
export async function searchSlices(
  bundleOf: (mix: Mixture) => string,
  next: () => Slice | undefined,
  played: (slice: Slice) => void,
): Promise<Failure | undefined> {
  const open: { readonly slice: Slice; taken: number; done: number }[] = [];
  const failures: Failure[] = [];
  await onAllCores(
    () => {
      if (failures.length > 0) return undefined;
      let part = open.at(-1);
      if (part === undefined || part.taken === part.slice.histories) {
        const slice = next();
        if (slice === undefined) return undefined;
        part = { slice, taken: 0, done: 0 };
        open.push(part);
      }
      const { mix, first, histories } = part.slice;
      const count = Math.min(AT_ONCE, histories - part.taken);
      const request = { kind: 'search', mix, first: first + part.taken, count, stopAtFirst: true } as const;
      part.taken += count;
      return { bundle: bundleOf(mix), part, request };
    },
    ({ part }, found) => {
      part.done += found.histories;
      failures.push(...found.failures);
      if (failures.length > 0) return;
      const unfinished = open.findIndex(({ slice, done }) => done < slice.histories);
      const finished = open.splice(0, unfinished === -1 ? open.length : unfinished);
      for (const { slice } of finished) played(slice);
    },
  );
  return failures[0];
}

/** Replays one history in a worker, and shrinks it where it fails. */
export async function explainIn(bundle: string, subject: Subject): Promise<Found> {
  let asked = false;
  let answer: Found = { histories: 0, failures: [] };
  await onAllCores(
    () => {
      if (asked) return undefined;
      asked = true;
      return { bundle, request: { kind: 'explain', ...subject } };
    },
    (_task, found) => {
      answer = found;
    },
  );
  return answer;
}

interface Planting {
  readonly bundle: string;
  readonly planted: Planted;
  readonly request: Extract<Request, { kind: 'search' }>;
}

function searchFor({ mix = 'plain' }: Planted, seed?: number): Planting['request'] {
  return { kind: 'search', mix, first: seed ?? 1, count: seed === undefined ? WITHIN : 1, stopAtFirst: true };
}

export interface Caught {
  readonly planted: Planted;
  /** The first history that shows it; undefined: none did. */
  readonly failure: Failure | undefined;
  /** The changed source crashes, so its failure does not show that the rule is needed. */
  readonly refused: PlantingError | undefined;
  readonly histories: number;
}

/**
 * Plants each fault in turn, on all cores, and plays histories until it is caught.
 *
 * @param seeds where each fault was caught before: that history is played first, and all others only if it shows nothing
 */
export async function catchPlanted(
  root: string,
  caught: (result: Caught) => void,
  {
    all = PLANTED,
    seeds = {},
  }: { readonly all?: readonly Planted[]; readonly seeds?: Readonly<Record<string, number>> } = {},
): Promise<readonly Caught[]> {
  // Before any run, so that a rule that has moved is reported at once.
  for (const planted of all) plantedSources(root, planted);
  const waiting = [...all];
  const again: Planting[] = [];
  const results = new Map<string, Caught>();
  await onAllCores(
    async () => {
      const missed = again.shift();
      if (missed !== undefined) return missed;
      const planted = waiting.shift();
      if (planted === undefined) return undefined;
      const bundle = bundleFile(planted.name);
      await bundleWorker(root, bundle, planted);
      return { bundle, planted, request: searchFor(planted, seeds[planted.name]) };
    },
    ({ planted, bundle, request }, { failures, histories }) => {
      const [failure] = failures;
      if (failure === undefined && request.count < WITHIN) {
        again.push({ bundle, planted, request: searchFor(planted) });
        return;
      }
      rmSync(bundle);
      const result = { planted, failure, refused: failure && crashOf(planted, failure), histories };
      results.set(planted.name, result);
      caught(result);
    },
  );
  return all.flatMap(({ name }) => results.get(name) ?? []);
}

function crashOf({ name }: Planted, { seed, violations }: Failure): PlantingError | undefined {
  const crash = violations.find(({ kind }) => kind === 'crashed');
  if (crash === undefined) return undefined;
  return new PlantingError(
    `"${name}" makes the source crash instead of breaking a promise, in seed ${String(seed)}: ${crash.text}. ` +
      'Change the edit so that the source leaves the rule out and runs.',
  );
}
