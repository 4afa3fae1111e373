import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimFolder } from '../../src/cli/dev/dev-file';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { type Webhooks, isSignedBy, startWebhooks } from '../support/webhooks';

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes').toString('base64')}`;
let folder: CliFolder;
let webhooks: Webhooks;

beforeAll(async () => {
  folder = cliFolder();
  webhooks = await startWebhooks(({ path }) => (path.startsWith('/refuses') ? 403 : 202));
});
afterAll(() => {
  folder.remove();
  webhooks.close();
});

const env = (): NodeJS.ProcessEnv => {
  const at = (path: string): string => `http://127.0.0.1:${String(webhooks.port)}${path}`;
  return {
    CRONLEASE_RECEIVERS: JSON.stringify({
      plain: { format: 'cloudevents', url: at('/plain'), secret: SECRET },
      team: { format: 'teams', url: at('/team') },
      shut: { format: 'slack', url: at('/refuses/secret-of-slack') },
    }),
    CRONLEASE_NOTIFY_HOSTS: '127.0.0.1',
    CRONLEASE_DEV_SECRET: 's'.repeat(32),
  };
};

describe('cronlease notify test', () => {
  it('sends a signed test notice to one receiver', async () => {
    const before = webhooks.hooks.length;
    const { code, stdout } = await folder.run(['notify', 'test', 'plain'], env());
    expect([code, stdout]).toEqual([0, 'plain (cloudevents): accepted\n']);
    const [hook, ...others] = webhooks.hooks.slice(before);
    expect(others).toEqual([]);
    if (hook === undefined) throw new Error('nothing has come');
    expect(isSignedBy(SECRET, hook)).toBe(true);
    expect(JSON.parse(hook.body)).toMatchObject({ type: 'cronlease.test', id: hook.headers['webhook-id'] });
  });

  it('calls this machine without TLS while "cronlease dev" runs in the folder, and only then', async () => {
    const { CRONLEASE_DEV_SECRET: _, ...shell } = env();
    const refused = await folder.run(['notify', 'test', 'plain'], shell);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('only "cronlease dev" calls this machine without it');
    const claim = claimFolder(folder.path);
    claim.publish({ storage: 'x', container: 'x', pid: process.pid, sweepInterval: '1m' });
    try {
      const { code, stdout } = await folder.run(['notify', 'test', 'plain'], shell);
      expect([code, stdout]).toEqual([0, 'plain (cloudevents): accepted\n']);
    } finally {
      claim.release();
    }
  });

  it('ends with 1 where a receiver refuses, and repeats no part of its address', async () => {
    const { code, stdout, stderr } = await folder.run(['notify', 'test', 'shut'], env());
    expect([code, stdout]).toEqual([1, 'shut (slack): it answered 403: refused ***\n']);
    expect(stdout + stderr).not.toContain('secret-of-slack');
  });

  it('asks whether a notice has arrived in Teams', async () => {
    const answer = async (key: string): Promise<[number | null, string]> => {
      const terminal = folder.inTerminal(['notify', 'test', 'team'], env());
      await expect.poll(() => terminal.text()).toContain('Has it arrived');
      terminal.type(`${key}\n`);
      return [await terminal.ended, terminal.text()];
    };
    const [yes, arrived] = await answer('y');
    expect([yes, arrived]).toEqual([0, expect.stringContaining('team (teams): arrived')]);
    const [no, lost] = await answer('n');
    expect([no, lost]).toEqual([1, expect.stringContaining('look at the runs of the workflow')]);
  });

  it('tells each receiver apart as JSON, and names those that it has', async () => {
    const results = await folder.json<object[]>(folder.run(['notify', 'test', '--json'], env()), 1);
    expect(results).toMatchObject([
      { receiver: 'plain', accepted: true, arrived: null, problem: null },
      { receiver: 'team', accepted: true, arrived: null },
      { receiver: 'shut', accepted: false, problem: 'it answered 403: refused ***' },
    ]);
    const { code, stderr } = await folder.run(['notify', 'test', 'nobody'], env());
    expect(code).toBe(1);
    expect(stderr).toContain('there is no receiver "nobody" in CRONLEASE_RECEIVERS of this shell (plain, team, shut)');
  });
});
