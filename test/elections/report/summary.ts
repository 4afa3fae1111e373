import type { Millis } from '../../../src/core/brand';
import type { Contender } from '../world/world';
import { CONTENDERS } from '../world/contender';
import { SCENARIOS, type Scenario } from '../world/scenarios';
import { runTrial } from '../world/trial';

/** Means over the trials of one contender in one scenario. */
export interface Summary {
  readonly trials: number;
  readonly withoutLeaderMs: Spread;
  readonly twoLeaders: { readonly times: number; readonly ms: Millis };
  readonly stale: number;
  /** Undefined if its leaders have no token. */
  readonly staleFenced: number | undefined;
  readonly elections: number;
  readonly messages: number;
}

interface Spread {
  readonly mean: Millis;
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
}

export interface Row {
  readonly scenario: Scenario;
  /** Undefined for a contender that the scenario does not concern. */
  readonly summaries: ReadonlyMap<Contender, Summary | undefined>;
}

export async function summariesOf(instances: number, seeds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const scenario of SCENARIOS) rows.push(await rowOf(scenario, instances, seeds));
  return rows;
}

export async function rowOf(scenario: Scenario, instances: number, seeds: number): Promise<Row> {
  const summaries = new Map<Contender, Summary | undefined>();
  for (const contender of CONTENDERS) {
    const concerned = scenario.ofStore !== true || contender.usesStore;
    summaries.set(contender, concerned ? await summarise(contender, scenario, instances, seeds) : undefined);
  }
  return { scenario, summaries };
}

async function summarise(contender: Contender, scenario: Scenario, instances: number, seeds: number): Promise<Summary> {
  const all = [];
  for (let seed = 1; seed <= seeds; seed += 1) all.push(await runTrial({ contender, scenario, instances, seed }));
  const fenced = all.flatMap(({ staleFenced }) => staleFenced ?? []);
  return {
    trials: all.length,
    withoutLeaderMs: spreadOf(all.map(({ withoutLeaderMs }) => withoutLeaderMs)),
    twoLeaders: {
      times: mean(all.map(({ twoLeaders }) => twoLeaders.times)),
      ms: mean(all.map(({ twoLeaders }) => twoLeaders.ms)),
    },
    stale: mean(all.map(({ stale }) => stale)),
    staleFenced: fenced.length === 0 ? undefined : mean(fenced),
    elections: mean(all.map(({ elections }) => elections)),
    messages: mean(all.map(({ messages }) => messages)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return { mean: mean(values), p50: at(0.5), p99: at(0.99), max: at(1) };
}
