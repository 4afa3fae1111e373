import { parseArgs } from 'node:util';
import { SEEDS } from './seeds';
import { SCENARIOS, type Scenario } from './world/scenarios';

export type ElectionsOptions =
  | { readonly kind: 'help' }
  | {
      readonly kind: 'compare';
      readonly seeds: number;
      /** The numbers of instances, in the order of the tables. */
      readonly sizes: readonly number[];
      readonly plotted: { readonly scenario: Scenario; readonly seed: number };
      /** The folder of the page, if it is to be written. */
      readonly out: string | undefined;
    };

/** The command line cannot be used. */
export class ElectionsOptionError extends Error {
  readonly code = 'ElectionsOption';
  override readonly name = 'ElectionsOptionError';
}

/** The page's. */
const SIZES = [5, 3];

export const HELP = `npm run elections -- [options]

Compares election algorithms in a simulated network: tables, and a plot of one trial.
The same seeds give the same figures on every machine.

  --seeds N        trials of each algorithm in each scenario, seeds 1 to N (${String(SEEDS)})
  --instances N    a number of instances from 3 on; without it 5 and 3
  --plot SCENARIO  the scenario of the plot (partition)
  --seed N         the seed of the plot (1)
  --out DIR        write the figures into DIR/elections.md and the plots into DIR/elections
  --help           show this text`;

/** @throws ElectionsOptionError if the arguments cannot be used */
export function electionsOptions(args: readonly string[]): ElectionsOptions {
  const values = parsed(args);
  if (values.help) return { kind: 'help' };
  const scenario = SCENARIOS.find(({ name }) => name === values.plot);
  if (scenario === undefined) {
    const names = SCENARIOS.map(({ name }) => name).join(', ');
    throw new ElectionsOptionError(`--plot: there is no scenario "${values.plot}": use one of ${names}`);
  }
  if (values.out !== undefined && (values.instances !== undefined || values.seeds !== String(SEEDS))) {
    throw new ElectionsOptionError('--out: the page has its own numbers: leave --instances and --seeds out');
  }
  return {
    kind: 'compare',
    seeds: wholeNumber('--seeds', values.seeds, 1),
    sizes: values.instances === undefined ? SIZES : [wholeNumber('--instances', values.instances, 3)],
    plotted: { scenario, seed: wholeNumber('--seed', values.seed, 1) },
    out: values.out,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string', default: String(SEEDS) },
        instances: { type: 'string' },
        plot: { type: 'string', default: 'partition' },
        seed: { type: 'string', default: '1' },
        out: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ElectionsOptionError(error.message, { cause: error });
  }
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new ElectionsOptionError(`${option}: "${text}": use a whole number from ${String(least)} on`);
}
