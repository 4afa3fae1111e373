import { format } from 'prettier';
import { type Range, plotRanges } from '../../../bench/report/plot';
import { LEASE_MS, MARGIN_MS, RENEW_MS } from '../algorithms/lease';
import { LEASE_MS as RAFT_LEASE_MS } from '../algorithms/raft';
import { HEARTBEAT_MS, SILENCE_MS } from '../algorithms/timing';
import { SEEDS } from '../seeds';
import { DELAY_MS } from '../world/links';
import { FAULT_AT_MS, MEASURED_MS, SCENARIOS } from '../world/scenarios';
import { COMPUTES_MS, WRITE_EVERY_MS } from '../world/trial';
import type { Row } from './summary';
import { markdownTable, METRICS } from './tables';

const GENERATED = /(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)/gs;

/** The page with the parts between its marks made again. The rows are those of 5 instances, and of 3. */
export async function withFigures(page: string, five: readonly Row[], three: readonly Row[]): Promise<string> {
  const parts: Readonly<Record<string, string>> = {
    conditions: conditions(),
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

/** What the figures depend on: the constants of the trials and of the algorithms. */
function conditions(): string {
  const [computes] = COMPUTES_MS.toReversed();
  return [
    `Each figure is the mean of ${String(SEEDS)} trials, over the ${seconds(MEASURED_MS)} from a fault on, which begins after ` +
      `about ${seconds(FAULT_AT_MS)}.`,
    `A message takes ${DELAY_MS.join(' to ')} ms.`,
    `The leader writes every ${String(WRITE_EVERY_MS)} ms, and computes each write for up to ${String(computes)} ms.`,
    `Bully, the ring and Raft send a heartbeat every ${seconds(HEARTBEAT_MS)}.`,
    `Bully and the ring take a leader for dead after ${seconds(SILENCE_MS)} of silence, Raft after ${seconds(SILENCE_MS)} to ` +
      `${seconds(2 * SILENCE_MS)}.`,
    `The lease of \`raft-lease\` lasts ${seconds(RAFT_LEASE_MS)}.`,
    `The lease of \`lease\` and \`cronlease\` lasts ${seconds(LEASE_MS)}, the least that Azure grants. \`lease\` renews it every ` +
      `${seconds(RENEW_MS)}, with a margin of ${seconds(MARGIN_MS)}.`,
  ]
    .map((line) => `- ${line}`)
    .join('\n');
}

function seconds(ms: number): string {
  return `${String(ms / 1_000)} s`;
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
