import { format } from 'node:util';
import { expect, it, vi } from 'vitest';
import { LeaderElection } from '../../src/election/election';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';

vi.mock('../../src/election/options', async (original) => ({
  ...(await original<object>()),
  openRows: () => memoryService(systemClock).open(),
}));

it('an election goes on after an error that the console cannot show', { timeout: 30_000 }, async () => {
  const lines: string[] = [];
  const shown = vi.spyOn(console, 'error').mockImplementation((...message) => void lines.push(format(...message)));
  let calls = 0;
  const election = new LeaderElection({
    name: 'reports',
    storage: 'postgres://127.0.0.1:1/none',
    backoff: '1s',
    task: ({ signal }) => {
      calls += 1;
      if (calls > 1) return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
      throw Object.assign(new Error('no'), {
        [Symbol.for('nodejs.util.inspect.custom')]: () => {
          throw new Error('cannot be shown');
        },
      });
    },
  });
  election.start();
  await vi.waitFor(() => expect(calls).toBe(2), { timeout: 20_000 });
  await election.stop();
  shown.mockRestore();
  expect(lines).toEqual([expect.stringMatching(/election "reports": .*no/s)]);
});
