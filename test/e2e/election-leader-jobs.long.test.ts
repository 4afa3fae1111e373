import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Note, coordinatedApp } from '../support/coordinated';
import { allGone, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { eventually } from '../support/program';

const LEASE_S = 15;
const TICK_S = 15;
/** Lease, one tick and 2 s, and time for a machine that is busy. */
const TAKEN_OVER_WITHIN_MS = (LEASE_S + TICK_S + 2 + 15) * 1000;
/** One tick and 2 s; the host may wait 10 s for the invocation first. */
const HANDED_OVER_WITHIN_MS = (TICK_S + 2 + 10 + 15) * 1000;

let main: string;
beforeAll(() => {
  main = buildLocal();
});
afterAll(endAll);

describe('the instance that runs a leader job', () => {
  it('is followed by another when it is killed, and when it is shut down', { timeout: 300_000 }, async () => {
    // A first attempt runs until it is aborted; one that goes on after another ends its term after half a second.
    const app = coordinatedApp({
      leader: { schedule: '@always', handler: 'slow', lease: `${String(LEASE_S)}s`, input: { ms: 600_000 } },
    });
    const dev = startDev(main, { app: app.folder, instances: 3 }, app.env);
    await dev.ready();
    const started = (from: number, is: (note: Note) => boolean): Promise<Note> =>
      eventually(
        `a term of ${JSON.stringify(app.notes())}`,
        () => app.notes().find((note) => note.what === 'started' && note.token > from && is(note)),
        120_000,
      );

    const first = await started(0, () => true);
    expect(first).toMatchObject({ attempt: 1, token: 1 });
    const killedAt = Date.now();
    process.kill(first.pid, 'SIGKILL');
    const taken = await started(first.token, () => true);
    expect(taken).toMatchObject({ attempt: 2, trigger: 'takeOver', scheduledFor: first.scheduledFor });
    expect(taken.pid).not.toBe(first.pid);
    expect(taken.at - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS);

    const next = await started(taken.token, ({ attempt }) => attempt === 1);
    const stoppedAt = Date.now();
    process.kill(next.pid, 'SIGTERM');
    const handed = await started(next.token, () => true);
    expect(handed).toMatchObject({ attempt: 2, trigger: 'schedule', scheduledFor: next.scheduledFor });
    expect(handed.pid).not.toBe(next.pid);
    expect(handed.at - stoppedAt).toBeLessThan(HANDED_OVER_WITHIN_MS);
    await dev.event(({ event, reason }) => event === 'retrying' && reason === 'instanceStopped');
    await allGone([first.pid, next.pid]);

    // One at a time: each began with its own token, after the one before.
    const tokens = app.notes().flatMap(({ what, token }) => (what === 'started' ? [token] : []));
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });
});
