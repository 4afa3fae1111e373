import { defineConfig } from 'vitest/config';

// `npm test` runs the projects "everyday…". `npm run test:all` runs every project: *.long.test.ts too.

const LONG = 'test/**/*.long.test.ts';
/** Each file uses every core by itself. */
const SIMULATION = ['test/simulation/histories.test.ts', 'test/simulation/planted.test.ts'];
const LONG_SIMULATION = ['test/simulation/histories.long.test.ts', 'test/simulation/planted.long.test.ts'];
/** They need a quiet machine. */
const QUIET = ['test/e2e/load.long.test.ts', 'test/chaos/chaos.long.test.ts'];

interface Choice {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  /** Files that run side by side. */
  readonly maxWorkers: number;
  /** Projects of one turn run side by side, those of the next turn after them. */
  readonly turn: number;
}

function project(name: string, { include, exclude = [], maxWorkers, turn }: Choice) {
  const files = { include: [...include], exclude: [...exclude] };
  // A poll of 1 s, the default, fails on a busy machine.
  const timeouts = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };
  return { test: { name, ...files, ...timeouts, maxWorkers, sequence: { groupOrder: turn } } };
}

export default defineConfig({
  test: {
    globalSetup: 'test/support/scratch-setup.mjs',
    // A file for programs too, where one reads the result.
    reporters: process.env['CI'] === undefined ? ['default'] : ['default', 'json'],
    outputFile: { json: '.tmp/test-results.json' },
    projects: [
      // The end-to-end tests mostly wait: more workers than cores.
      project('everyday', {
        include: ['test/**/*.test.ts'],
        exclude: [LONG, ...SIMULATION],
        maxWorkers: 4,
        turn: 0,
      }),
      project('long', { include: [LONG], exclude: [...LONG_SIMULATION, ...QUIET], maxWorkers: 4, turn: 0 }),
      project('everyday simulation', { include: SIMULATION, maxWorkers: 1, turn: 1 }),
      project('long simulation', { include: LONG_SIMULATION, maxWorkers: 1, turn: 2 }),
      project('long quiet', { include: QUIET, maxWorkers: 1, turn: 3 }),
    ],
  },
});
