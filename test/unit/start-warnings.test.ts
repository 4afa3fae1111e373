import { expect, it, vi } from 'vitest';
import { createCoordinators } from '../../src/functions/coordinators';

/** What the start of an app with a job in Paris says. */
function startWarnings(env: Readonly<Record<string, string>>): readonly unknown[] {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  try {
    const jobs = { jobs: { a: { schedule: '30 2 * * *', timeZone: 'Europe/Paris' } } };
    const host = { functionTimeoutMs: undefined, attemptsAtOnce: undefined, maxConcurrentRuns: undefined };
    createCoordinators(
      { jobs, handlers: { a: { run: () => Promise.resolve() } } },
      {
        env: { CRONLEASE_STORAGE: 'UseDevelopmentStorage=true', ...env },
        host: { ...host, hubAccount: undefined, warnings: [] },
        feed: undefined,
      },
    );
    return warn.mock.calls.flat();
  } finally {
    warn.mockRestore();
  }
}

it('the start of an app warns of changes of clocks only where it is developed', () => {
  expect(startWarnings({})).toEqual([]);
  expect(startWarnings({ AZURE_FUNCTIONS_ENVIRONMENT: 'Development' })).toEqual([
    expect.stringMatching(/^Warning: jobs\.a\.schedule .*the clocks/),
  ]);
});
