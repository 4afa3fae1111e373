import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// `npm test` runs the projects "everyday…". `npm run test:all` runs every project: *.long.test.ts too, and the random
// properties in full.

const LONG = 'test/**/*.long.test.ts';
/** Each file uses every core by itself. */
const SIMULATION = ['test/simulation/histories.test.ts', 'test/simulation/planted.test.ts'];
const LONG_SIMULATION = ['test/simulation/histories.long.test.ts', 'test/simulation/planted.long.test.ts'];
/** They need a quiet machine. */
const QUIET = ['test/e2e/load.long.test.ts', 'test/e2e/backfill.long.test.ts', 'test/chaos/chaos.long.test.ts'];

const IN_PROCESS = globSync('test/{unit,property,elections,infra}/**/*.test.ts').filter(
  (file) => !/\.long\./.test(file),
);
const textOf = (file: string): string => readFileSync(file, 'utf8');
/** They change what a whole process shares, or measure it. */
const ALONE = IN_PROCESS.filter((file) =>
  /\bvi\.(mock|doMock|stubEnv|stubGlobal)\(|support\/(cpu|local-host)'/.test(textOf(file)),
);
/** Each worker evaluates the modules of the source once, and not once for each of these files. */
const SHARED = IN_PROCESS.filter((file) => !ALONE.includes(file));
/** They play a share of their runs in `npm test`: see test/support/runs.ts. */
const RANDOM = IN_PROCESS.filter((file) => textOf(file).includes("support/runs'"));

/** See test/support/random-seed.ts. */
const SEEDED = process.env['RANDOM_SEED'] === undefined ? [] : ['test/support/random-seed.ts'];
/**
 * Real processes share the machine of a CI run with others, and the check of a change plays hundreds of them. A test
 * that fails once there is tried once more, and named at the end. Nothing else is tried again, there or elsewhere.
 */
const TRIES = process.env['CI'] === undefined ? 0 : 1;

interface Choice {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  /** False: the files of a worker share its modules. */
  readonly isolate?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Files that are evaluated before each file. */
  readonly setupFiles?: readonly string[];
  /** How often a test that failed is tried again. */
  readonly retry?: number;
  /** Files that run side by side. */
  readonly maxWorkers: number;
  /** Projects of one turn run side by side, those of the next turn after them. */
  readonly turn: number;
}

function project(name: string, choice: Choice) {
  const { include, exclude = [], setupFiles = [], isolate = true, env = {}, retry = 0, maxWorkers, turn } = choice;
  const files = { include: [...include], exclude: [...exclude], setupFiles: [...setupFiles] };
  // A poll of 1 s, the default, fails on a busy machine.
  const timeouts = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };
  return { test: { name, ...files, ...timeouts, isolate, env, retry, maxWorkers, sequence: { groupOrder: turn } } };
}

/** Files that wait start first, and short ones that only compute fill the end: no core then idles beside a long file. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = ['/test/e2e/', '/test/conformance/'].findIndex((folder) => moduleId.includes(folder));
      return found === -1 ? 2 : found;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: WaitingFirst },
    globalSetup: 'test/support/scratch-setup.mjs',
    // A file for programs too, where one reads the result.
    reporters: process.env['CI'] === undefined ? ['default'] : ['default', 'json', './test/support/second-tries.mjs'],
    outputFile: { json: '.tmp/test-results.json' },
    projects: [
      // The end-to-end tests mostly wait: more workers than cores.
      project('everyday', {
        include: ['test/**/*.test.ts'],
        exclude: [LONG, ...SIMULATION, ...SHARED],
        retry: TRIES,
        maxWorkers: 4,
        turn: 0,
      }),
      project('everyday in process', {
        include: SHARED,
        setupFiles: SEEDED,
        isolate: false,
        maxWorkers: 4,
        turn: 0,
      }),
      project('long random', {
        include: RANDOM,
        setupFiles: SEEDED,
        isolate: false,
        env: { RUNS: process.env['RUNS'] ?? '1' },
        maxWorkers: 4,
        turn: 0,
      }),
      project('long', {
        include: [LONG],
        exclude: [...LONG_SIMULATION, ...QUIET],
        retry: TRIES,
        maxWorkers: 4,
        turn: 0,
      }),
      project('everyday simulation', { include: SIMULATION, maxWorkers: 1, turn: 1 }),
      project('long simulation', { include: LONG_SIMULATION, maxWorkers: 1, turn: 2 }),
      project('long quiet', { include: QUIET, retry: TRIES, maxWorkers: 1, turn: 3 }),
    ],
  },
});
