import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from './explain';
import type { Caught } from './search';

const FILE = 'docs/evidence/reliability/planted.json';

/** The first history that shows a planted fault, and what was seen in it. */
interface Seen {
  readonly name: string;
  readonly seed: number;
  readonly seen: string;
}

/** What `npm run soak -- --planted` has found last, by the names of the faults. */
export function caughtIn(root: string): ReadonlyMap<string, Seen> {
  const { faults } = JSON.parse(readFileSync(path.join(root, FILE), 'utf8')) as { readonly faults: readonly Seen[] };
  return new Map(faults.map((fault) => [fault.name, fault]));
}

/** One line for each fault that was caught. */
export function writeCaught(root: string, results: readonly Caught[]): void {
  const lines = results.flatMap(({ planted: { name }, failure }) =>
    failure === undefined ? [] : [JSON.stringify({ name, seed: failure.seed, seen: describe(failure.violations) })],
  );
  const at = new Date().toISOString().slice(0, 10);
  writeFileSync(path.join(root, FILE), `{\n  "at": "${at}",\n  "faults": [\n    ${lines.join(',\n    ')}\n  ]\n}\n`);
}
