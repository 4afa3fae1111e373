import { defineConfig } from 'vitest/config';

const shared = { testTimeout: 120_000, hookTimeout: 120_000 };
/** They use every core by themselves. */
const simulation = ['test/simulation/histories.test.ts', 'test/simulation/planted.test.ts'];
/** What they measure would mean little beside others. */
const alone = ['test/e2e/load.test.ts', 'test/chaos/chaos.test.ts'];

export default defineConfig({
  test: {
    globalSetup: 'test/support/scratch-setup.mjs',
    // A file for programs too, where one reads the result.
    reporters: process.env['CI'] === undefined ? ['default'] : ['default', 'json'],
    outputFile: { json: '.tmp/test-results.json' },
    projects: [
      {
        test: {
          ...shared,
          name: 'suite',
          include: ['test/**/*.test.ts'],
          exclude: [...simulation, ...alone],
          // The end-to-end tests mostly wait.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...shared, name: 'simulation', include: simulation, maxWorkers: 1, sequence: { groupOrder: 1 } } },
      { test: { ...shared, name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
});
