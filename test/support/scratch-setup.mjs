// Gives a run of the tests two folders, and removes them with the run: one as the temporary directory of the tests and
// their processes, and one inside the repository for programs that must find its packages.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeWithThisProcess } from '../../scripts/remove-with-process.mjs';

export default function setup() {
  const outside = mkdtempSync(path.join(tmpdir(), 'cronlease-test-'));
  // PostgreSQL refuses to run as root, and then runs as a user who must come through to its own folder.
  chmodSync(outside, 0o711);
  const parent = path.join(import.meta.dirname, '../../.tmp');
  mkdirSync(parent, { recursive: true });
  const inside = mkdtempSync(path.join(parent, 'test-'));
  removeWithThisProcess(outside, inside);
  // The workers inherit them.
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = outside;
  process.env['SCRATCH'] = inside;
  return () => sayAbsent(path.join(inside, 'absent.jsonl'));
}

/** One line for each program that is missing, from what `needs.ts` has noted. */
function sayAbsent(file) {
  if (!existsSync(file)) return;
  const notes = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const [needed, its] of Map.groupBy(notes, (note) => note.needed)) {
    const whats = [...new Set(its.map(({ what }) => what))].toSorted((a, b) => a.localeCompare(b));
    console.log(`Skipped, because ${needed} is missing: ${whats.join('; ')}. To run them: ${its[0].remedy}.`);
  }
}
