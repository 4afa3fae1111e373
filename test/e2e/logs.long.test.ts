import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

let main: string;
let folder: CliFolder;
beforeAll(() => {
  main = buildLocal();
  folder = cliFolder();
});
afterAll(() => {
  endAll();
  folder.remove();
});

interface Printed {
  readonly runId: string;
  readonly ended: boolean;
  readonly progress: object | null;
  readonly entries: readonly { readonly attempt: number; readonly n: number; readonly text?: string }[];
}

it(
  'what a killed handler said is there, and who follows sees it as it comes, until the run ends elsewhere',
  { timeout: 240_000 },
  async () => {
    const app = coordinatedApp({
      talker: { schedule: at(9_000), handler: 'talk', lease: '15s', input: { ms: 60_000 } },
    });
    const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
    const { storage, container } = await dev.ready();
    const from = ['--storage', storage, '--container', container];
    const print = () => folder.json<Printed>(folder.run(['logs', 'talker', '--json', ...from]));
    await dev.event((event) => event['job'] === 'talker' && event.event === 'started');
    const following = folder.start(['logs', 'talker', '--follow', ...from]);

    await vi.waitFor(() => expect(following.stdout()).toContain('step 5 of attempt 1'), {
      timeout: 60_000,
      interval: 50,
    });
    // The run goes on: this line has not been said by its end.
    expect(dev.events.some(({ event }) => event === 'succeeded')).toBe(false);
    const [first] = app.notes();
    process.kill(first?.pid ?? 0, 'SIGKILL');
    const killed = await print();
    expect(killed).toMatchObject({ ended: false });
    const kept = killed.entries.filter(({ text }) => text !== undefined).map(({ text }) => text);
    expect(kept.length).toBeGreaterThanOrEqual(5);
    expect(kept).toEqual(kept.map((_, index) => `step ${String(index + 1)} of attempt 1`));

    await dev.event((event) => event['job'] === 'talker' && event.event === 'succeeded', 120_000);
    const { code, stdout: seen } = await following.ended;
    expect(code).toBe(0);
    expect(seen).toMatch(
      /^run talker-\d{8}T\d{6}Z, \d{4}-\d\d-\d\d UTC\n\d\d:\d\d:\d\d\.\d{3} info {3}step 1 of attempt 1\n/,
    );
    expect(seen).toMatch(/\nattempt 2\n[\d:.]+ info {3}step 1 of attempt 2\n/);
    expect(seen).toMatch(/\n[\d:.]+ {8}100 % {2}step 4\n/);
    expect(seen).toMatch(/\n[\d:.]+ warn {3}done\n$/);
    const all = await print();
    expect(all).toMatchObject({ ended: true, progress: { note: 'step 4', fraction: 1 } });
    expect(all.entries.filter(({ attempt }) => attempt === 1).length).toBe(killed.entries.length);
    expect(all.entries.at(-1)).toMatchObject({ attempt: 2, level: 'warn', text: 'done' });

    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  },
);
