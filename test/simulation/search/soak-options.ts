import { parseArgs } from 'node:util';
import { MIXES, MIX_NAMES, type Mixture, mixtureOf } from '../faults/mixes';
import { PLANTED, type Planted, plantedBy } from '../faults/planted';

export const SOAK_HELP = `Lets simulated histories happen on all cores until one breaks a promise, or time is up.

  npm run soak                          for 5 minutes, from a seed that the time gives
  npm run soak -- --minutes 30          for longer
  npm run soak -- --seed 3575           replays one history; if it fails, shrinks it and prints its trace
  npm run soak -- --first 1 --histories 5000
                                        these histories, and no others
  npm run soak -- --mix clocks          with more of one kind of trouble
  npm run soak -- --mix failover+requires+kills
                                        with the trouble of several mixes at once
  npm run soak -- --each 20000          every mix by turns, until each has played so many histories on this build;
                                        test/simulation/played.json keeps the count, and goes on with it
  npm run soak -- --pairs 2000          the same for every pair of mixes
  npm run soak -- --plant no-mark       with a rule of the product left out
  npm run soak -- --planted             a history that shows each planted fault, written to
                                        docs/evidence/reliability/planted.json; with --plant, only that one

Ends with 1 where a promise was broken or a planted fault was not caught, with 2 where it was not asked well.

Mixes:
${MIX_NAMES.map((name) => `  ${name.padEnd(11)} ${MIXES[name].what}`).join('\n')}

Faults to plant: ${PLANTED.map(({ name }) => name).join(', ')}.
`;

/** The options of the command are wrong. */
export class SoakOptionError extends Error {
  readonly code = 'SoakOption';
  override readonly name = 'SoakOptionError';
}

export type SoakOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'planted'; readonly all: readonly Planted[] }
  | {
      readonly kind: 'each';
      readonly each: number;
      readonly of: 'mixes' | 'pairs';
      /** Undefined: until all are done. */
      readonly minutes: number | undefined;
    }
  | { readonly kind: 'replay'; readonly seed: number; readonly mix: Mixture; readonly planted: Planted | undefined }
  | {
      readonly kind: 'soak';
      readonly mix: Mixture;
      readonly first: number;
      /** Undefined: as many as the time allows. */
      readonly histories: number | undefined;
      /** Undefined: until all histories are done. */
      readonly minutes: number | undefined;
      readonly planted: Planted | undefined;
    };

/**
 * @param now the default first seed
 * @throws SoakOptionError
 */
export function soakOptions(args: readonly string[], now: number): SoakOptions {
  const values = parse(args);
  if (values.help === true) return { kind: 'help' };
  const planted = values.plant === undefined ? undefined : plant(values.plant);
  if (values.planted === true) {
    refuseOthers('--planted', values, ['planted', 'plant']);
    return { kind: 'planted', all: planted === undefined ? PLANTED : [planted] };
  }
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  if (minutes !== undefined && !(minutes > 0 && minutes <= 10_080)) {
    throw new SoakOptionError(`--minutes is ${JSON.stringify(values.minutes)}: give a number above 0, at most 10080`);
  }
  for (const of of ['mixes', 'pairs'] as const) {
    const option = of === 'mixes' ? 'each' : 'pairs';
    const each = whole(`--${option}`, values[option]);
    if (each === undefined) continue;
    refuseOthers(`--${option}`, values, [option, 'minutes']);
    return { kind: 'each', each, of, minutes };
  }
  const mix = mixOf(values.mix) ?? planted?.mix ?? 'plain';
  const seed = whole('--seed', values.seed);
  if (seed !== undefined) {
    refuseOthers('--seed', values, ['seed', 'mix', 'plant']);
    return { kind: 'replay', seed, mix, planted };
  }
  const histories = whole('--histories', values.histories);
  return {
    kind: 'soak',
    mix,
    first: whole('--first', values.first) ?? (Math.floor(now / 1_000) % 1_000_000) * 1_000 + 1,
    histories,
    minutes: minutes ?? (histories === undefined ? 5 : undefined),
    planted,
  };
}

type Values = ReturnType<typeof parse>;

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: text,
        seed: text,
        first: text,
        histories: text,
        each: text,
        pairs: text,
        mix: text,
        plant: text,
        planted: flag,
        help: flag,
      },
    }).values;
  } catch (cause) {
    const [problem] = (cause instanceof Error ? cause.message : String(cause)).split('. ');
    throw new SoakOptionError(`${String(problem)}. See npm run soak -- --help`, { cause });
  }
}

function refuseOthers(option: string, values: Values, allowed: readonly string[]): void {
  const other = Object.keys(values).find((key) => !allowed.includes(key));
  if (other !== undefined) throw new SoakOptionError(`${option} does not go with --${other}: leave one of them out`);
}

function whole(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) < 1) {
    throw new SoakOptionError(`${option} is ${JSON.stringify(text)}: give a whole number from 1 to 9999999999`);
  }
  return Number(text);
}

function mixOf(name: string | undefined): Mixture | undefined {
  const found = name === undefined ? undefined : mixtureOf(name);
  if (found !== undefined || name === undefined) return found;
  throw new SoakOptionError(
    `--mix is ${JSON.stringify(name)}, which is no mix. There are: ${MIX_NAMES.join(', ')}. ` +
      'Several are joined by +, each once',
  );
}

function plant(name: string): Planted {
  const found = plantedBy(name);
  if (found !== undefined) return found;
  const names = PLANTED.map((planted) => planted.name).join(', ');
  throw new SoakOptionError(`--plant is ${JSON.stringify(name)}, which is no fault to plant. There are: ${names}`);
}
