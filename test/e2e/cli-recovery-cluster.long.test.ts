import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '../../src/version';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

let main: string;
let cli: CliFolder;
beforeAll(() => {
  main = buildLocal();
  cli = cliFolder();
});
afterAll(() => {
  endAll();
  cli.remove();
});

it('a cluster says who it is, and a holder whose lease is broken is told', { timeout: 240_000 }, async () => {
  const app = coordinatedApp({
    nightly: { schedule: at(6_000), handler: 'slow', lease: '20s', input: { ms: 600_000 } },
  });
  const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
  const { instances } = await dev.ready();
  const started = await dev.event(({ event }) => event === 'started');
  const run = (...args: string[]) => cli.run([...args, '--json'], {}, app.folder);

  // Each has said so with its first tick that went through.
  const healthy = async (): Promise<readonly Record<string, string>[]> => {
    for (;;) {
      const { code, stdout } = await run('doctor');
      const { findings } = JSON.parse(stdout) as { findings: Record<string, string>[] };
      expect(code, stdout).toBe(0);
      const present = findings.filter(({ check, subject }) => check === 'deployments' && subject !== null);
      if (present.length === instances.length) return findings;
    }
  };
  const findings = await healthy();
  expect(findings.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(
    findings.filter(({ check }) => check === 'deployments').map(({ subject, message }) => [subject, message]),
  ).toEqual(
    instances.map(({ deployment }) => [
      deployment,
      expect.stringContaining(
        `cronlease ${VERSION}, revision 0, task hub ${deployment.replaceAll(/\W/g, '')} in emulator on`,
      ),
    ]),
  );

  const broken = await cli.json<Record<string, unknown>>(run('unlock', 'nightly', '--yes'));
  expect(broken).toMatchObject({ job: 'nightly', runId: started['runId'], holder: started['deployment'] });
  const told = await dev.event(({ event }) => event === 'superseded', 30_000);
  expect(told).toMatchObject({ job: 'nightly', deployment: started['deployment'], reason: 'leaseLost' });
  expect(app.notes().filter(({ what }) => what === 'ended')).toEqual([]);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
});
