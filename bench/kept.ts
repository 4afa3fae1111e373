import { parseLoad } from './load';
import type { Machine } from './machine';
import type { IdleResult } from './measure/idle';
import type { KillResult } from './measure/kill';
import type { LogsResult } from './measure/logs';
import type { Result } from './measure/result';
import type { ShortageResult } from './measure/shortage';
import type { Starts } from './measure/start';

/** A table of the page, as text. */
export interface Table {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The build that was measured, and when. */
export type Made = Pick<Machine, 'commit' | 'at'>;

/** All that is kept of one sitting, and the tables of earlier ones that it has not measured again. */
export interface Sitting {
  readonly machine: Machine;
  /** Systems whose server is not installed. */
  readonly leftOut: readonly { readonly system: string; readonly reason: string }[];
  readonly results: readonly Result[];
  readonly kills: readonly KillResult[];
  readonly idles: readonly IdleResult[];
  /** One, or none. */
  readonly starts: readonly Starts[];
  readonly logs: readonly LogsResult[];
  readonly shortages: readonly ShortageResult[];
  /** What could not be measured. */
  readonly failures: readonly { readonly run: string; readonly reason: string }[];
  /** The CPU of a run by part. */
  readonly profile?: Table;
  /** For tables of earlier sittings, by {@link tableOf} or by `kills`, `idles`, `starts`, `logs`, `shortages` and `profile`. */
  readonly made?: Readonly<Record<string, Made>>;
}

/** The table to which a result belongs: the systems are compared in it, so all its rows are of one sitting. */
export function tableOf({ load, skewMs }: Pick<Result, 'load' | 'skewMs'>): string {
  return skewMs === 0 ? load : `${load}, clocks ${String(skewMs)} ms apart`;
}

export function madeOf({ made, machine: { commit, at } }: Sitting, table: string): Made {
  return made?.[table] ?? { commit, at };
}

/** The new sitting, with the tables of the old one that it has not. */
export function joined(old: Sitting, now: Sitting): Sitting {
  const measured = new Set(now.results.map(tableOf));
  const kept = old.results.filter((result) => !measured.has(tableOf(result)));
  const tables = [...new Set(kept.map(tableOf))];
  const take = <Part extends 'kills' | 'idles' | 'starts' | 'logs' | 'shortages'>(part: Part): Sitting[Part] => {
    if (now[part].length > 0 || old[part].length === 0) return now[part];
    tables.push(part);
    return old[part];
  };
  const [kills, idles, starts, logs] = [take('kills'), take('idles'), take('starts'), take('logs')];
  const shortages = take('shortages');
  const profile = now.profile ?? old.profile;
  if (now.profile === undefined && profile !== undefined) tables.push('profile');
  const { leftOut, failures } = now.results.length > 0 ? now : old;
  return {
    ...now,
    ...{ leftOut, failures },
    results: [...kept, ...now.results].toSorted((a, b) => rankOf(a) - rankOf(b)),
    ...{ kills, idles, starts, logs, shortages },
    ...(profile === undefined ? {} : { profile }),
    made: Object.fromEntries(tables.map((table) => [table, madeOf(old, table)])),
  };
}

/** Rates before bursts, few jobs before many, and skewed clocks last. */
function rankOf({ load: name, skewMs }: Result): number {
  const load = parseLoad(name);
  if (load === undefined) throw new Error(`The results have "${name}", which is no load.`);
  const rank = load.kind === 'rate' ? load.perSecond : 1e6 + load.jobs;
  return skewMs === 0 ? rank : 1e7 + rank;
}
