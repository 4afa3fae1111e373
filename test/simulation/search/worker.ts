import { parentPort } from 'node:worker_threads';
import { type Explained, type Subject, explain } from './explain';
import type { Violation } from '../world/facts';
import { runHistory } from './history';
import { type Mixture, planOf } from '../faults/mixes';

/** A task of a core. */
export type Request =
  | {
      readonly kind: 'search';
      readonly mix: Mixture;
      readonly first: number;
      readonly count: number;
      /** Stops at the first history that fails. */
      readonly stopAtFirst: boolean;
    }
  /** Replays one history, and shrinks it where it fails. */
  | ({ readonly kind: 'explain' } & Subject);

export interface Failure {
  readonly seed: number;
  readonly mix: Mixture;
  readonly violations: readonly Violation[];
}

export interface Found {
  /** The number of histories that were played. */
  readonly histories: number;
  readonly failures: readonly Failure[];
  /** The description of one history. */
  readonly text?: string | undefined;
  readonly shrunk?: Explained['shrunk'];
}

async function search({ mix, first, count, stopAtFirst }: Extract<Request, { kind: 'search' }>): Promise<Found> {
  const failures: Failure[] = [];
  let histories = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    histories += 1;
    const { violations } = await runHistory(planOf(seed, mix));
    if (violations.length === 0) continue;
    failures.push({ seed, mix, violations });
    if (stopAtFirst) break;
  }
  return { histories, failures };
}

async function answer(request: Request): Promise<Found> {
  if (request.kind === 'search') return search(request);
  const { violations, text, shrunk } = await explain(request);
  const { seed, mix } = request;
  return { histories: 1, failures: violations.length === 0 ? [] : [{ seed, mix, violations }], text, shrunk };
}

// A simulated world makes many errors, and no one reads their stacks.
Error.stackTraceLimit = 0;
parentPort?.on('message', (request: Request) => {
  answer(request).then(
    (found) => parentPort?.postMessage(found, []),
    (error: unknown) => {
      // Ends the worker, and its caller gets the error.
      throw error;
    },
  );
});
