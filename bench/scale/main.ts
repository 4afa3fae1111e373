import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { format } from 'prettier';
import { describeMachine } from '../machine';
import { azuriteCase } from './azurite-case';
import { type ListingResult, type ScaleResult, type Table, TABLES } from './figures';
import { listingCase } from './listing-case';
import { type Measured, type ScaleSitting, scalePage } from './page';

const USAGE = `Usage: npm run bench:scale -- [options]

Measures how time, CPU, storage calls and memory grow with the number of jobs and of instances: the first sight, an idle
minute, a minute in which 1 % of the jobs are due, and one in which all are. On the memory store in simulated time, and
on the storage emulator in real time. Then only listings, on a server that answers each page after 100 ms. Writes
docs/evidence/scale.md and docs/evidence/performance/scale.json.

  --quick         up to 10,000 jobs and 3 instances in memory, up to 1,000 jobs on the emulator: two minutes
  --only TABLE    measure only this table, and keep the other results: memory, emulator or listings
  --out FOLDER    write page and results there
  --render        measure nothing: write the page again from the results
  --help          print this
`;

const MEMORY = {
  quick: [cases(100, 1), cases(1_000, 1, 3), cases(10_000, 1)],
  whole: [cases(100, 1, 3, 10), cases(1_000, 1, 3, 10), cases(10_000, 1, 3, 10), cases(100_000, 1)],
};
const AZURITE = {
  quick: [cases(100, 1), cases(1_000, 1)],
  whole: [cases(100, 1, 3), cases(1_000, 1, 3), cases(10_000, 1, 3)],
};

const LISTED = [5_000, 10_000, 30_000, 100_000];

type Extent = 'quick' | 'whole';
type Case = readonly [jobs: number, instances: number];

function cases(jobs: number, ...instances: number[]): Case[] {
  return instances.map((count) => [jobs, count]);
}

/** @param root the repository's folder */
export async function main(args: readonly string[], root: string): Promise<number> {
  const flag = { type: 'boolean' } as const;
  const options = { quick: flag, render: flag, help: flag, only: { type: 'string' }, out: { type: 'string' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const quick = values.quick === true;
  const out = path.resolve(root, values.out ?? (quick ? '.tmp/bench/scale' : 'docs/evidence'));
  const results = path.join(out, 'performance/scale.json');
  if (values.render !== true) {
    const only = tableOf(values.only);
    const last = only === undefined ? undefined : (JSON.parse(readFileSync(results, 'utf8')) as ScaleSitting);
    const extent = quick ? 'quick' : 'whole';
    keep(results, {
      memory: await measured(root, 'memory', { only, last }, () => measureMemory(extent)),
      emulator: await measured(root, 'emulator', { only, last }, () => measureEmulator(extent)),
      listings: await measured(root, 'listings', { only, last }, measureListings),
    });
  }
  const page = scalePage(JSON.parse(readFileSync(results, 'utf8')) as ScaleSitting);
  const file = path.join(out, 'scale.md');
  writeFileSync(file, await format(page, { parser: 'markdown', printWidth: 120, singleQuote: true }));
  console.error(`The page is ${path.relative(process.cwd(), file)}.`);
  return 0;
}

/** @throws Error if there is no such table */
function tableOf(name: string | undefined): Table | undefined {
  if (name === undefined) return undefined;
  const table = TABLES.find((one) => one === name);
  if (table === undefined) throw new Error(`--only ${name}: use ${TABLES.join(', ')}.`);
  return table;
}

interface Kept {
  /** The only table to measure. Undefined: all. */
  readonly only: Table | undefined;
  readonly last: ScaleSitting | undefined;
}

async function measured<Name extends Table>(
  root: string,
  name: Name,
  { only, last }: Kept,
  measure: () => Promise<ScaleSitting[Name]['results']>,
): Promise<Measured<ScaleSitting[Name]['results'][number]>> {
  if (last !== undefined && only !== name) return last[name];
  return { machine: describeMachine(root), results: await measure() };
}

function keep(file: string, sitting: ScaleSitting): void {
  const tables = TABLES.map((name) => {
    const { machine, results } = sitting[name];
    const lines = results.map((one) => JSON.stringify(one, rounded)).join(',\n');
    return `"${name}": {\n"machine": ${JSON.stringify(machine)},\n"results": [\n${lines}\n]\n}`;
  });
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `{\n${tables.join(',\n')}\n}\n`);
}

async function measureMemory(extent: Extent): Promise<ScaleResult[]> {
  const results: ScaleResult[] = [];
  for (const [jobs, instances] of MEMORY[extent].flat()) {
    console.error(`memory, ${String(jobs)} jobs, ${String(instances)} instances …`);
    results.push(await inProcess(jobs, instances));
  }
  return results;
}

async function measureEmulator(extent: Extent): Promise<ScaleResult[]> {
  const results: ScaleResult[] = [];
  for (const [jobs, instances] of AZURITE[extent].flat()) {
    console.error(`azurite, ${String(jobs)} jobs, ${String(instances)} instances …`);
    results.push(await azuriteCase(jobs, instances));
  }
  return results;
}

async function measureListings(): Promise<ListingResult[]> {
  const results: ListingResult[] = [];
  for (const jobs of LISTED) {
    console.error(`listings of ${String(jobs)} jobs …`);
    results.push(await listingCase(jobs));
  }
  return results;
}

async function inProcess(jobs: number, instances: number): Promise<ScaleResult> {
  const file = path.join(__dirname, 'case-process.js');
  const child = fork(file, [String(jobs), String(instances)], { execArgv: ['--expose-gc'] });
  const failed = new AbortController();
  child.once('exit', (code) => {
    if (code !== 0) failed.abort(new Error(`the case ended with exit code ${String(code)}`));
  });
  const [result] = (await once(child, 'message', { signal: failed.signal })) as [ScaleResult];
  return result;
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 100) / 100 : value;
}
