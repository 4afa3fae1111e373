import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ElectionsOptionError, type ElectionsOptions, HELP, electionsOptions } from './options';
import { lanesOf, lanesSvg, lanesText } from './report/lanes';
import { withFigures, withoutLeaderSvg } from './report/page';
import { type Row, summariesOf } from './report/summary';
import { METRICS, textTable } from './report/tables';
import { scenarioOf } from './world/scenarios';

const PLOTTED_INSTANCES = 5;
const ASKED_BADLY = 2;

async function main(options: ElectionsOptions): Promise<void> {
  if (options.kind === 'help') {
    console.log(HELP);
    return;
  }
  const { seeds, sizes, plotted, out } = options;
  const tables = new Map<number, Row[]>();
  for (const instances of sizes) {
    const rows = await summariesOf(instances, seeds);
    tables.set(instances, rows);
    for (const metric of METRICS) console.log(`${textTable(metric, instances, rows)}\n`);
  }
  console.log(lanesText(plotted.scenario, await lanesOf(plotted.scenario, PLOTTED_INSTANCES, plotted.seed)));
  if (out !== undefined) await writePage(out, tables.get(5) ?? [], tables.get(3) ?? []);
}

async function writePage(folder: string, five: readonly Row[], three: readonly Row[]): Promise<void> {
  const file = path.join(folder, 'elections.md');
  writeFileSync(file, await withFigures(readFileSync(file, 'utf8'), five, three));
  const plots = path.join(folder, 'elections');
  mkdirSync(plots, { recursive: true });
  for (const row of five) {
    if (row.scenario.name === 'crash') writeFileSync(path.join(plots, 'crash.svg'), withoutLeaderSvg(row));
  }
  for (const name of ['partition', 'flapping link']) {
    const lanes = await lanesOf(scenarioOf(name), PLOTTED_INSTANCES, 1);
    const svg = lanesSvg(`Who believed when: ${name}, one trial`, lanes);
    writeFileSync(path.join(plots, `${name.replace(' ', '-')}.svg`), svg);
  }
  console.log(`\nWritten: ${file}, and the plots in ${plots}`);
}

async function run(): Promise<void> {
  try {
    await main(electionsOptions(process.argv.slice(2)));
  } catch (error) {
    if (!(error instanceof ElectionsOptionError)) throw error;
    console.error(error.message);
    process.exitCode = ASKED_BADLY;
  }
}

run().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
