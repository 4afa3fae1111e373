import { describe, expect, it, vi } from 'vitest';
import { createRunner, defineJob } from '../../src/runner/index';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';

vi.mock('../../src/stores/open', async (original) => ({
  ...(await original<object>()),
  openStore: () => memoryService(systemClock).open(),
}));

/** A runner in whose store a job is due every second. */
function runnerOf(job: ReturnType<typeof defineJob>, line: (...message: readonly unknown[]) => void) {
  return createRunner({
    jobs: { jobs: { often: { schedule: '@every 1s' } } },
    handlers: { often: job },
    store: 'postgres://127.0.0.1:1/none',
    deployment: 'unit',
    log: { debug: line, info: line, warn: line, error: line },
  });
}

const SLOWLY = { timeout: 20_000 };

describe('a runner', () => {
  it('that waits for its runs is hurried by a further call', { timeout: 30_000 }, async () => {
    let begun = false;
    let reason: unknown;
    const lasts = defineJob({
      run: ({ signal }) => {
        begun = true;
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            resolve(undefined);
          });
        });
      },
    });
    const runner = runnerOf(lasts, () => undefined);
    runner.start();
    await vi.waitFor(() => expect(begun).toBe(true), SLOWLY);
    const patient = runner.stop({ finishWithin: '1h' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(reason).toBeUndefined();
    await runner.stop();
    await patient;
    expect(reason).toMatchObject({ code: 'draining' });
  });

  it('gives each line as one text to a logger that drops all but the first', { timeout: 30_000 }, async () => {
    const lines: unknown[] = [];
    const fails = defineJob({
      run: ({ log }) => {
        log('hello', { n: 7 });
        throw new Error('no such table');
      },
    });
    const runner = runnerOf(fails, (first) => lines.push(first));
    runner.start();
    await vi.waitFor(() => expect(lines).toContainEqual(expect.stringContaining('no such table')), SLOWLY);
    await runner.stop();
    expect(lines).toContain('[often] hello { n: 7 }');
  });
});
