import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'prettier';
import type { Sitting } from '../kept';
import { systems } from '../systems/index';
import { median } from './numbers';
import { pageOf, plotFile } from './page';
import { type Range, plotRanges } from './plot';
import { grouped, loadTitle } from './tables';

const RESULTS = 'performance/results.json';

/** Keeps a sitting: one result a line, so that changes can be read. */
export function writeResults(sitting: Sitting, folder: string): void {
  mkdirSync(path.join(folder, 'performance'), { recursive: true });
  const members = Object.entries(sitting).map(([name, value]: [string, unknown]) => {
    const text = Array.isArray(value)
      ? `[\n${value.map((one) => JSON.stringify(one)).join(',\n')}\n]`
      : JSON.stringify(value);
    return `${JSON.stringify(name)}: ${text}`;
  });
  writeFileSync(path.join(folder, RESULTS), `{\n${members.join(',\n')}\n}\n`);
}

export function readSitting(folder: string): Sitting {
  const sitting = JSON.parse(readFileSync(path.join(folder, RESULTS), 'utf8'), (_key, value: unknown) =>
    // JSON has no NaN: a lateness of no starts.
    value === null ? Number.NaN : value,
  ) as Omit<Sitting, 'starts' | 'logs' | 'shortages'> & Partial<Sitting>;
  // Results of before these parts have none.
  const { starts = [], logs = [], shortages = [] } = sitting;
  return { ...sitting, starts, logs, shortages };
}

/** Writes the page and its plots. */
export async function writeReport(sitting: Sitting, folder: string): Promise<void> {
  const page = await format(pageOf(sitting), { parser: 'markdown', printWidth: 120, singleQuote: true });
  writeFileSync(path.join(folder, 'performance.md'), page);
  const straight = grouped(
    sitting.results.filter(({ skewMs }) => skewMs === 0),
    ({ load }) => load,
  );
  for (const [load, results] of straight) {
    const ranges = [...grouped(results, ({ system }) => system)].map(([label, repeated]): Range => ({
      label,
      p50: median(repeated.map(({ figures }) => figures.lateness.p50)),
      p99: median(repeated.map(({ figures }) => figures.lateness.p99)),
      max: Math.max(...repeated.map(({ figures }) => figures.lateness.max)),
      own: systems.some(({ name, own }) => name === label && own === true),
    }));
    writeFileSync(path.join(folder, 'performance', plotFile(load)), plotRanges(loadTitle(load), ranges));
  }
}
