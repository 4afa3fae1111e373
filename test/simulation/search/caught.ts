import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PLANTED } from '../faults/planted';
import { describe } from './explain';
import type { Caught } from './search';

const FILE = 'docs/evidence/reliability/planted.json';

/** A history that shows a planted fault, and what was seen in it. */
interface Seen {
  readonly name: string;
  readonly seed: number;
  readonly seen: string;
}

/** What `npm run soak -- --planted` has found last, by the names of the faults. */
export function caughtIn(root: string): ReadonlyMap<string, Seen> {
  const file = path.join(root, FILE);
  if (!existsSync(file)) return new Map();
  const { faults } = JSON.parse(readFileSync(file, 'utf8')) as { readonly faults: readonly Seen[] };
  return new Map(faults.map((fault) => [fault.name, fault]));
}

/** The history that has shown each fault. */
export function seedsShown(root: string): Readonly<Record<string, number>> {
  return Object.fromEntries([...caughtIn(root)].map(([name, { seed }]) => [name, seed]));
}

/** A line for each fault that was caught, now or, if it was not planted now, before. */
export function writeCaught(root: string, results: readonly Caught[]): void {
  const now = new Map(results.map((result) => [result.planted.name, result]));
  const before = caughtIn(root);
  const lines = PLANTED.flatMap(({ name }) => {
    const result = now.get(name);
    const seen = result === undefined ? before.get(name) : seenIn(result);
    return seen === undefined ? [] : [JSON.stringify(seen)];
  });
  const at = new Date().toISOString().slice(0, 10);
  writeFileSync(path.join(root, FILE), `{\n  "at": "${at}",\n  "faults": [\n    ${lines.join(',\n    ')}\n  ]\n}\n`);
}

function seenIn({ planted: { name }, failure }: Caught): Seen | undefined {
  return failure && { name, seed: failure.seed, seen: describe(failure.violations) };
}
