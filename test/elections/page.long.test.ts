import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { oversized } from '../support/function-sizes';
import { circles } from '../support/rooms';
import { lanesOf, lanesSvg, lanesText } from './report/lanes';
import { withFigures, withoutLeaderSvg } from './report/page';
import { type Row, rowOf } from './report/summary';
import { markdownRow, METRICS, textTable } from './report/tables';
import { SEEDS } from './seeds';
import { CONTENDERS } from './world/contender';
import { SCENARIOS, scenarioOf } from './world/scenarios';

const docs = path.join(__dirname, '../../docs/evidence');
const page = readFileSync(path.join(docs, 'elections.md'), 'utf8');

/** A row as it is before the formatter has aligned it. */
function unaligned(line: string): string {
  return line.replaceAll(/ +/g, ' ').trim();
}

describe('docs/evidence/elections.md', () => {
  // All rows would take half a minute.
  it.each(['partition', 'stopped process'])('has the figures of "%s" as the sources give them', async (name) => {
    const lines = page.split('\n').map(unaligned);
    for (const instances of [3, 5]) {
      const row = await rowOf(scenarioOf(name), instances, SEEDS);
      for (const { title, cell } of METRICS) {
        expect(lines, `run npm run elections -- --out docs/evidence: ${title}`).toContain(markdownRow(row, cell));
      }
    }
  });

  it('names every scenario and algorithm, and the number of trials', () => {
    for (const { name, what } of SCENARIOS) expect(page).toContain(`- **${name}**: ${what}`);
    for (const { name } of CONTENDERS) expect(page).toContain(`\`${name}\``);
    expect(page).toContain(`${String(SEEDS)} trials`);
  });

  it('has the plots as the sources draw them', async () => {
    for (const name of ['partition', 'flapping link']) {
      const svg = lanesSvg(`Who believed when: ${name}, one trial`, await lanesOf(scenarioOf(name), 5, 1));
      const file = `elections/${name.replace(' ', '-')}.svg`;
      expect(readFileSync(path.join(docs, file), 'utf8')).toBe(svg);
      expect(page).toContain(`(${file})`);
    }
  });
});

describe('the report', () => {
  const fewTrials = (): Promise<Row> => rowOf(scenarioOf('partition'), 3, 2);

  it('fits on 80 columns', async () => {
    const row = await fewTrials();
    const scenario = scenarioOf('partition');
    const text = [
      ...METRICS.map((metric) => textTable(metric, 3, [row])),
      lanesText(scenario, await lanesOf(scenario, 3, 1)),
    ];
    for (const line of text.join('\n').split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('shows in the lanes who believes alone and who with another', async () => {
    const scenario = scenarioOf('partition');
    const text = lanesText(scenario, await lanesOf(scenario, 3, 1)).split('\n');
    const marksOf = (name: string): string => {
      const first = text.findIndex((line) => line.startsWith(`${name} `));
      return text
        .slice(first, first + 3)
        .map((line) => line.slice(15))
        .join('');
    };
    for (const name of ['bully', 'ring', 'raft']) expect(marksOf(name)).toContain('2222');
    for (const name of ['raft-lease', 'lease', 'cronlease']) {
      expect(marksOf(name)).not.toContain('2');
      expect(marksOf(name)).toContain('####');
    }
  });

  it('fills the marked parts of a page, and refuses a part that it does not know', async () => {
    const rows = [await fewTrials()];
    const filled = await withFigures('a\n\n<!-- generated: five-instances -->\n<!-- end -->\n\nb\n', rows, rows);
    expect(filled).toMatch(/^a\n.*Seconds without a leader.*\| partition.*\nb\n$/s);
    expect(await withFigures(filled, rows, rows)).toBe(filled);
    await expect(withFigures('<!-- generated: none -->\n<!-- end -->', rows, rows)).rejects.toThrow('"none"');
  });

  it('plots the time without a leader of each contender', async () => {
    const svg = withoutLeaderSvg(await rowOf(scenarioOf('crash'), 3, 2));
    for (const { name } of CONTENDERS) expect(svg).toContain(`>${name}</text>`);
    expect(svg).toContain('time without a leader in a trial');
  });
});

describe('the sources of the comparison', () => {
  const files = readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: file.split(path.sep).join('/'), text: readFileSync(path.join(__dirname, file), 'utf8') }));

  it('keep the rules of the house', () => {
    expect(files.length).toBeGreaterThan(15);
    expect(circles(files)).toEqual([]);
    expect(oversized(files.filter(({ file }) => !file.endsWith('.test.ts')))).toEqual([]);
  });

  it('are short enough to hand out: an algorithm is one file of at most 160 lines', () => {
    for (const { file, text } of files) {
      if (file.startsWith('algorithms/')) expect(text.split('\n').length, file).toBeLessThanOrEqual(160);
    }
  });
});
