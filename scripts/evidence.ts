import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Result } from '../bench/measure/result';
import { median, milliseconds } from '../bench/report/numbers';
import { loadTitle } from '../bench/report/tables';
import { seconds } from '../test/chaos/row';
import type { Scenario } from '../test/chaos/scenario';
import { scenarios } from '../test/chaos/scenarios/index';
import { type Measured, markdownTable } from '../test/chaos/table';
import { MIXES, MIX_NAMES } from '../test/simulation/faults/mixes';
import { PLANTED } from '../test/simulation/faults/planted';
import { caughtIn } from '../test/simulation/search/caught';
import { parsePlayed, totalsOf } from '../test/simulation/search/played';
import { testTables } from './evidence-tests';
import { code, table } from './table';

const EVIDENCE = 'docs/evidence';
/** The other stores of the chaos runs. */
const STORES = { postgres: 'PostgreSQL', redis: 'Redis', etcd: 'etcd', zookeeper: 'ZooKeeper', consul: 'Consul' };
/** The systems of the benchmark that are cronlease on a store. */
const PEERS = { cronlease: 'blobs (the emulator)', 'cronlease-postgres': 'PostgreSQL', 'cronlease-redis': 'Redis' };

/** What was measured once, with its date if no test measures it again: in words, in a table, or both. */
interface Kept {
  readonly at?: string;
  readonly note: string;
  readonly heads?: readonly string[];
  readonly rows?: readonly (readonly string[])[];
}

/** The tables of docs/evidence: from the sources, and from what the measuring commands have written beside the pages. */
export function evidenceTables(root: string): Record<string, string> {
  const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
  const chaos = (name: string): Measured => JSON.parse(read(`${EVIDENCE}/reliability/chaos-${name}.json`)) as Measured;
  const kept = (name: string, prefix: string): Record<string, string> => {
    const all = JSON.parse(read(`${EVIDENCE}/${name}.json`)) as Readonly<Record<string, Kept>>;
    return Object.fromEntries(Object.entries(all).map(([part, one]) => [`${prefix}-${part}`, keptText(one)]));
  };
  const { results } = JSON.parse(read(`${EVIDENCE}/performance/results.json`)) as { readonly results: Result[] };
  return {
    mixes: table(
      ['mix', 'what is different', 'histories in `npm run test:all`'],
      MIX_NAMES.map((name) => [code(name), MIXES[name].what, String(MIXES[name].share)]),
    ),
    played: playedText(read('test/simulation/played.json')),
    'planted-faults': plantedTable(root),
    'chaos-blobs': chaosText(chaos('blobs')),
    'chaos-stores': storesText(Object.keys(STORES).map(chaos)),
    'chaos-builds': buildsTable(chaos('builds')),
    ...kept('stores', 'stores'),
    ...kept('on-azure', 'azure'),
    'stores-peers': peersTable(results),
    ...testTables(root),
  };
}

function playedText(file: string): string {
  const played = parsePlayed(file);
  // A mix that is newer than the file has no line yet.
  const totals = totalsOf(
    played,
    MIX_NAMES.filter((mix) => played.mixes.has(mix)),
  );
  const [all, least] = [totals.all, totals.least].map((count) => count.toLocaleString('en-US'));
  return `The builds in that file have played ${all} histories, at least ${least} of each mix, without a failure.`;
}

function plantedTable(root: string): string {
  const caught = caughtIn(root);
  const rows = PLANTED.map(({ name, what }) => {
    const found = caught.get(name);
    if (found === undefined) throw new Error(`"${name}" has no result. Run: npm run soak -- --planted`);
    return [code(name), what, String(found.seed), found.seen];
  });
  return table(['planted fault', 'what was changed', 'caught by seed', 'what was seen'], rows);
}

function chaosText({ at, note = '', rows }: Measured): string {
  const shown = rows.map((row) => ({ ...row, shows: scenarioOf(row.name).shows }));
  const safe = `${dueTimes(rows)} due times had ${violations(rows)}`;
  const text = `Recorded on ${at.slice(0, 10)}, ${String(rows.length)} rows: ${safe}. ${note}`;
  return `${text.trim()}\n\n${markdownTable(shown)}`;
}

/** Of each store what it was asked and what was broken, and then one figure for each scenario. */
function storesText(all: readonly Measured[]): string {
  const heads = Object.values(STORES);
  const summary = all.map(({ at, note = '', rows }, index) => [
    heads[index] ?? '',
    at.slice(0, 10),
    dueTimes(rows),
    violations(rows),
    note,
  ]);
  const names = [...new Set(all.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const figures = names.map((name) => [
    code(scenarioOf(name).name),
    ...all.map(({ rows }) => {
      const row = rows.find((one) => one.name === name);
      return row === undefined ? '–' : longest(row);
    }),
  ]);
  const first = table(['store', 'recorded', 'due times', 'found', 'notes'], summary);
  return `${first}\n\nThe longest gap or take-over of each scenario:\n\n${table(['scenario', ...heads], figures)}`;
}

function longest({ gapOthersMs = 0, gapHeldMs = 0, takeOverMs = 0, misses }: Measured['rows'][number]): string {
  return seconds(Math.max(gapOthersMs, gapHeldMs, takeOverMs)) + (misses.length === 0 ? '' : ' MISSED');
}

function scenarioOf(name: string): Scenario {
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario "${name}"`);
  return scenario;
}

function dueTimes(rows: Measured['rows']): string {
  return sum(rows, (row) => row.dueTimes);
}

function violations(rows: Measured['rows']): string {
  const duplicates = sum(rows, (row) => row.duplicates);
  const losses = sum(rows, (row) => row.losses);
  return `${duplicates} duplicates, ${losses} losses and ${sum(rows, (row) => row.staleWrites)} stale writes`;
}

function sum(rows: Measured['rows'], of: (row: Measured['rows'][number]) => number): string {
  return rows.reduce((all, row) => all + of(row), 0).toLocaleString('en-US');
}

function buildsTable({ at, other = '', rows }: Measured): string {
  const heads = ['other build', 'due times', 'duplicates', 'losses', 'targets missed', 'gap, held', 'take-over'];
  const cells = rows.map(({ dueTimes, duplicates, losses, misses, gapHeldMs = 0, takeOverMs = 0 }) => [
    code(other),
    ...[dueTimes, duplicates, losses, misses.length].map(String),
    ...[gapHeldMs, takeOverMs].map(seconds),
  ]);
  return `Recorded on ${at.slice(0, 10)}:\n\n${table(heads, cells)}`;
}

function keptText({ at, note, heads, rows = [] }: Kept): string {
  const text = at === undefined ? note : `Recorded on ${at}. ${note}`;
  return [text, heads === undefined ? '' : table(heads, rows)].join('\n\n').trim();
}

/** Without skewed clocks. */
function peersTable(results: readonly Result[]): string {
  const straight = results.filter(({ system, skewMs }) => system in PEERS && skewMs === 0);
  const loads = [...new Set(straight.map(({ load }) => load))];
  const rows = loads.flatMap((load) =>
    (['p50', 'p99'] as const).map((part) => [
      part === 'p50' ? `${loadTitle(load)}: late, p50` : 'the same, p99',
      ...Object.keys(PEERS).map((name) => {
        const measured = straight.filter((result) => result.system === name && result.load === load);
        return `${milliseconds(median(measured.map(({ figures }) => figures.lateness[part])))} ms`;
      }),
    ]),
  );
  return table(['', ...Object.values(PEERS)], rows);
}
