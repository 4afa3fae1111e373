import { parseArgs } from 'node:util';
import { type Load, parseLoad } from './load';
import { systems } from './systems/index';
import type { System } from './systems/system';

export const USAGE = `Usage: npm run bench -- [options]

Runs the same jobs on cronlease and on what people would use instead, one system after the other, on this machine:
three workers each, and a handler of 20 ms. Writes a page with tables and plots, and the results as JSON: into docs/evidence,
or into .tmp/bench if options leave something out.

  --quick               each peer and cronlease as \`cronlease dev\` runs it; loads 1/s, 100/s and 1000/min for 10 s,
                        one repetition, no skew, no kills: under 20 minutes
  --systems NAME,…      only these systems; --list names them
  --parts PART,…        only these parts: loads, kill (kill -9 of a worker), idle (jobs that are not due),
                        start (an app until its functions are registered), logs (of a run that writes 3,000 lines),
                        shortage (of CPU, for 10 s)
  --loads LOAD,…        only these loads, such as 100/s,1000/min
  --repetitions N       each load so many times, in turn (2); a whole run with 2 takes about three hours
  --seconds N           how long a rate is measured (20)
  --skew MS             how far the workers' clocks are apart in the skewed runs; 0: no skewed runs (150)
  --idle N,…            so many jobs that are not due (1,1000)
  --idle-seconds N      for so long (300)
  --cores N,…           so many cores are taken in a shortage (0.5,1,1.5)
  --out FOLDER          write page, plots and results there
  --add                 keep the tables of the page there which this run does not measure; each names its commit
  --render FOLDER       measure nothing: write the page and the plots there again from its results
  --profile             measure nothing else: the CPU of one cronlease worker by part, at the first of the loads;
                        with --add, the page gets the table
  --list                print the names of all systems
  --help                print this
`;

/** The options cannot be used. */
export class UsageError extends Error {
  readonly code = 'Usage';
  override readonly name = 'UsageError';
}

const PARTS = ['loads', 'kill', 'idle', 'start', 'logs', 'shortage'] as const;

export type Part = (typeof PARTS)[number];

export interface Options {
  readonly systems: readonly System[];
  readonly parts: readonly Part[];
  readonly loads: readonly Load[];
  readonly repetitions: number;
  readonly seconds: number;
  /** 0: no skewed runs. */
  readonly skewMs: number;
  readonly idleJobs: readonly number[];
  readonly idleSeconds: number;
  /** The cores that each shortage takes. */
  readonly cores: readonly number[];
  /** Whether nothing is left out that a whole run has. */
  readonly whole: boolean;
  readonly out: string | undefined;
  /** Whether tables that are not measured stay. */
  readonly add: boolean;
  readonly render: string | undefined;
  readonly profile: boolean;
}

const LOADS = '1/s,20/s,100/s,300/s,100/min,1000/min,5000/min';
const QUICK_LOADS = '1/s,100/s,1000/min';
const QUICK_SYSTEMS = 'croner,naive-lease,blob-leader,redlock,bullmq,etcd-election,graphile,cronlease';
const NARROWING = [
  'quick',
  'systems',
  'parts',
  'loads',
  'repetitions',
  'seconds',
  'skew',
  'idle',
  'idle-seconds',
  'cores',
];

/** @returns a text to print instead of a run */
export function readOptions(args: readonly string[]): Options | string {
  const { values } = parse(args);
  if (values.help === true) return USAGE;
  if (values.list === true) return systems.map(({ name, title }) => `${name.padEnd(16)} ${title}`).join('\n');
  const quick = values.quick === true;
  return {
    systems: listed(values.systems ?? (quick ? QUICK_SYSTEMS : undefined))?.map(systemNamed) ?? systems,
    parts: listed(values.parts ?? (quick ? 'loads' : undefined))?.map(partNamed) ?? PARTS,
    loads: (values.loads ?? (quick ? QUICK_LOADS : LOADS)).split(',').map(loadOf),
    repetitions: whole('--repetitions', values.repetitions, quick ? 1 : 2, 1, 100),
    seconds: whole('--seconds', values.seconds, quick ? 10 : 20, 1, 3_600),
    skewMs: whole('--skew', values.skew, quick ? 0 : 150, 0, 60_000),
    idleJobs: listed(values.idle ?? '1,1000')?.map((text) => whole('--idle', text, 1, 1, 100_000)) ?? [],
    idleSeconds: whole('--idle-seconds', values['idle-seconds'], 300, 1, 36_000),
    cores: (values.cores ?? '0.5,1,1.5').split(',').map(coresOf),
    whole: !NARROWING.some((name) => name in values),
    out: values.out,
    add: values.add === true,
    render: values.render,
    profile: values.profile === true,
  };
}

function listed(text: string | undefined): string[] | undefined {
  return text?.split(',');
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...{ quick: flag, profile: flag, add: flag, list: flag, help: flag },
        ...{ systems: text, parts: text, loads: text, repetitions: text, seconds: text, skew: text },
        ...{ idle: text, 'idle-seconds': text, cores: text, out: text, render: text },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

export function systemNamed(name: string): System {
  const found = systems.find((system) => system.name === name);
  if (found !== undefined) return found;
  const names = systems.map((system) => system.name).join(', ');
  throw new UsageError(`--systems: there is no system "${name}". Use some of ${names}.`);
}

function partNamed(name: string): Part {
  const found = PARTS.find((part) => part === name);
  if (found !== undefined) return found;
  throw new UsageError(`--parts: there is no part "${name}". Use some of ${PARTS.join(', ')}.`);
}

function loadOf(text: string): Load {
  const load = parseLoad(text);
  if (load !== undefined) return load;
  throw new UsageError(
    `--loads: "${text}" is not a load. Use jobs a second, or jobs due in one minute: 100/s, 1000/min.`,
  );
}

function coresOf(text: string): number {
  const cores = Number(text);
  if (/^\d{1,2}(\.\d{1,2})?$/.test(text) && cores > 0) return cores;
  throw new UsageError(`--cores: "${text}" cannot be used. Use numbers of cores, such as 0.5,1.`);
}

function whole(option: string, text: string | undefined, preset: number, least: number, most: number): number {
  if (text === undefined) return preset;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option}: "${text}" cannot be used. Use a number from ${String(least)} to ${String(most)}.`);
}
