import { format } from 'prettier';
import { type Range, plotRanges } from '../../../bench/report/plot';
import { SCENARIOS } from '../world/scenarios';
import type { Row } from './summary';
import { markdownTable, METRICS } from './tables';

const GENERATED = /(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)/gs;

/** The page with the parts between its marks made again. The rows are those of 5 instances, and of 3. */
export async function withFigures(page: string, five: readonly Row[], three: readonly Row[]): Promise<string> {
  const parts: Readonly<Record<string, string>> = {
    scenarios: SCENARIOS.map(({ name, what }) => `- **${name}**: ${what}`).join('\n'),
    'five-instances': tables(five),
    'three-instances': tables(three),
  };
  const filled = page.replaceAll(GENERATED, (_all, start: string, name: string, end: string) => {
    const part = parts[name];
    if (part === undefined) throw new Error(`the page names the part "${name}", which does not exist`);
    return `${start}\n${part}\n\n${end}`;
  });
  return format(filled, { parser: 'markdown', printWidth: 120, singleQuote: true });
}

function tables(rows: readonly Row[]): string {
  return METRICS.map((metric) => `**${metric.title}**\n\n${markdownTable(metric, rows)}`).join('\n\n');
}

/** The time without a leader in one scenario, of each contender. */
export function withoutLeaderSvg({ scenario, summaries }: Row): string {
  const ranges = [...summaries].flatMap(([{ name }, summary]): Range[] => {
    if (summary === undefined) return [];
    const { p50, p99, max } = summary.withoutLeaderMs;
    return [{ label: name, p50, p99, max, own: name === 'cronlease' }];
  });
  return plotRanges(`Time without a leader: ${scenario.name}`, ranges, {
    caption: 'time without a leader in a trial: dot p50, bar to p99, line to the maximum',
    leastMs: 100,
  });
}
