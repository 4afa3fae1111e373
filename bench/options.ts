import { parseArgs } from 'node:util';
import { type Load, parseLoad } from './load';
import { systems } from './systems/index';
import type { System } from './systems/system';

export const USAGE = `Usage: npm run bench -- [options]

Runs the same jobs on cronlease and on what people would use instead, one system after the other, on this machine:
three workers each, and a handler of 20 ms. Prints tables, and keeps the results as JSON.

  --quick               loads 1/s, 100/s and 1000/min, one repetition, without skewed clocks: under 20 minutes
  --systems NAME,…      these systems only; --list names them
  --loads LOAD,…        these loads only, such as 100/s,1000/min
  --repetitions N       each run so many times, in turn (2)
  --seconds N           how long a rate is measured (20)
  --bursts N            how many minutes in a row a burst is measured; the last one counts (1)
  --skew MS,…           clocks of the workers so far apart (0,150)
  --json FILE           write the results there (.tmp/bench/TIME.json)
  --list                print the names of all systems
  --help                print this
`;

/** The options cannot be used. */
export class UsageError extends Error {
  readonly code = 'Usage';
  override readonly name = 'UsageError';
}

export interface Options {
  readonly systems: readonly System[];
  readonly loads: readonly Load[];
  readonly repetitions: number;
  readonly seconds: number;
  readonly bursts: number;
  readonly skewsMs: readonly number[];
  readonly json: string | undefined;
}

const LOADS = '1/s,20/s,100/s,300/s,100/min,1000/min,5000/min';
const QUICK_LOADS = '1/s,100/s,1000/min';

/** @returns a text to print instead of a run */
export function readOptions(args: readonly string[]): Options | string {
  const { values } = parse(args);
  if (values.help === true) return USAGE;
  if (values.list === true) return systems.map(({ name, title }) => `${name.padEnd(16)} ${title}`).join('\n');
  const quick = values.quick === true;
  return {
    systems: values.systems === undefined ? systems : values.systems.split(',').map(systemNamed),
    loads: (values.loads ?? (quick ? QUICK_LOADS : LOADS)).split(',').map(loadOf),
    repetitions: whole('--repetitions', values.repetitions, quick ? 1 : 2, 1, 100),
    seconds: whole('--seconds', values.seconds, quick ? 10 : 20, 1, 3_600),
    bursts: whole('--bursts', values.bursts, 1, 1, 60),
    skewsMs: (values.skew ?? (quick ? '0' : '0,150')).split(',').map((text) => whole('--skew', text, 0, 0, 60_000)),
    json: values.json,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        systems: { type: 'string' },
        loads: { type: 'string' },
        repetitions: { type: 'string' },
        seconds: { type: 'string' },
        bursts: { type: 'string' },
        skew: { type: 'string' },
        json: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function systemNamed(name: string): System {
  const found = systems.find((system) => system.name === name);
  if (found !== undefined) return found;
  const names = systems.map((system) => system.name).join(', ');
  throw new UsageError(`--systems: there is no system "${name}". Use some of ${names}.`);
}

function loadOf(text: string): Load {
  const load = parseLoad(text);
  if (load !== undefined) return load;
  throw new UsageError(
    `--loads: "${text}" is no load. Use jobs each second or jobs due in one minute: 100/s, 1000/min.`,
  );
}

function whole(option: string, text: string | undefined, preset: number, least: number, most: number): number {
  if (text === undefined) return preset;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option}: "${text}" cannot be used. Use a number from ${String(least)} to ${String(most)}.`);
}
