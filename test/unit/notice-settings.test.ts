import { describe, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { createCoordinators, unknownNames } from '../../src/functions/coordinators';
import { accessSettings } from '../../src/functions/manage-settings';
import { noticeSettings } from '../../src/functions/remote-settings';
import { unresolvedSettings } from '../../src/functions/settings';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes').toString('base64')}`;
const HOSTS = 'hooks.slack.com, alerts.example, *.logic.azure.com, events.pagerduty.com, hc-ping.com';
const settings = (receivers: unknown, more: Readonly<Record<string, string>> = {}) =>
  noticeSettings({
    CRONLEASE_RECEIVERS: typeof receivers === 'string' ? receivers : JSON.stringify(receivers),
    CRONLEASE_NOTIFY_HOSTS: HOSTS,
    ...more,
  });

describe('the app settings of notices', () => {
  it('are empty where nothing is set', () => {
    const { receivers, pings, publicAddress } = noticeSettings({});
    expect([receivers.size, pings.size, publicAddress]).toEqual([0, 0, undefined]);
  });

  it('hold a receiver of each format', () => {
    const { receivers } = settings({
      plain: { format: 'cloudevents', url: 'https://alerts.example/hook', secret: [SECRET, SECRET] },
      slack: { format: 'slack', url: 'https://hooks.slack.com/services/T/B/x' },
      teams: { format: 'teams', url: 'https://prod-1.westeurope.logic.azure.com/workflows/x?sig=y' },
      pager: { format: 'pagerduty', routingKey: 'R'.repeat(32) },
    });
    expect(
      [...receivers.values()].map(({ name, format, address, secrets }) => [name, format, address.host, secrets.length]),
    )
      // prettier-ignore
      .toEqual([
        ['plain', 'cloudevents', 'alerts.example', 2],
        ['slack', 'slack', 'hooks.slack.com', 0],
        ['teams', 'teams', 'prod-1.westeurope.logic.azure.com', 0],
        ['pager', 'pagerduty', 'events.pagerduty.com', 0],
      ]);
  });

  it.each([
    ['{"ops": {"url": "https://hidden-part.example/', /CRONLEASE_RECEIVERS is "…": it is not JSON/],
    ['[]', /it is not an object/],
    [{ Ops: {} }, /a name has 1 to 63/],
    [{ ops: 'https://hidden-part.example' }, /CRONLEASE_RECEIVERS.ops is "…": must be an object/],
    [{ ops: { format: 'hidden-part' } }, /ops.format is "…": use one of cloudevents/],
    [{ ops: { format: 'slack', url: 'hidden-part' } }, /ops.url is "…": must be an address/],
    [
      { ops: { format: 'slack', url: 'https://evil.example/hidden-part' } },
      /host "evil.example" is not in CRONLEASE_NOTIFY_HOSTS/,
    ],
    [{ ops: { format: 'slack', url: 'http://hooks.slack.com/hidden-part' } }, /use https/],
    [{ ops: { format: 'cloudevents', url: 'https://alerts.example/hidden-part' } }, /ops.secret is "…": is missing/],
    [
      { ops: { format: 'cloudevents', url: 'https://alerts.example', secret: 'hidden-part' } },
      /ops.secret is "…": must be "whsec_"/,
    ],
    [{ ops: { format: 'pagerduty', routingKey: 'hidden-part' } }, /ops.routingKey is "…"/],
    [
      { ops: { format: 'slack', url: 'https://hooks.slack.com/', token: 'hidden-part' } },
      /ops.token is "…": is not a member/,
    ],
    [{ 'https://hooks.slack.com/hidden-part': { format: 'slack' } }, /"…": a name has 1 to 63/],
    [{ ops: { 'https://hooks.slack.com/hidden-part': 'url' } }, /ops.… is "…": is not a member/],
  ])('refuse %j, and repeat no secret', (receivers, message) => {
    let error: unknown;
    try {
      settings(receivers);
    } catch (thrown) {
      error = thrown;
    }
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain('hidden-part');
  });

  it('refuse hosts and networks that are none, and addresses of pings', () => {
    for (const hosts of ['*', '*.com', 'https://x.example', 'a b', 'x.example=10.0.0.0', 'x.example=']) {
      expect(() => noticeSettings({ CRONLEASE_NOTIFY_HOSTS: hosts }), hosts).toThrow(/CRONLEASE_NOTIFY_HOSTS/);
    }
    for (const hosts of [
      '*.co.uk',
      '*.azurewebsites.net',
      '*.github.io',
      '*.cloudapp.net',
      '*.blob.core.windows.net',
      // The list has only some of the names under these, or none.
      ...['*.windows.net', '*.core.windows.net', '*.dfs.core.windows.net', '*.azure.com', '*.vault.azure.net'],
      ...['*.cloudapp.azure.com', '*.westeurope.cloudapp.azure.com', '*.azurecontainerapps.io', '*.amazonaws.com'],
      ...['*.westeurope.azurecontainerapps.io', '*.westeurope-01.azurewebsites.net'],
    ]) {
      expect(() => noticeSettings({ CRONLEASE_NOTIFY_HOSTS: hosts }), hosts).toThrow(/anyone can get a name there/);
    }
    for (const hosts of [
      '*.example.co.uk',
      '*.acme.azurewebsites.net',
      '*.corp.example',
      'acme.azurewebsites.net',
      '*.own.westeurope.azurecontainerapps.io',
      'x.core.windows.net',
    ]) {
      expect(() => noticeSettings({ CRONLEASE_NOTIFY_HOSTS: hosts }), hosts).not.toThrow();
    }
    // A pasted address.
    for (const hosts of ['https://hooks.slack.com/services/hidden-part', 'alerts.example?sig=hidden-part']) {
      const pasted = () => noticeSettings({ CRONLEASE_NOTIFY_HOSTS: `hooks.slack.com,${hosts}` });
      expect(pasted, hosts).toThrow(/^(?!.*hidden-part).*CRONLEASE_NOTIFY_HOSTS, entry 2/s);
    }
    const pings = (text: string) => () => noticeSettings({ CRONLEASE_PINGS: text, CRONLEASE_NOTIFY_HOSTS: HOSTS });
    expect(pings('{"nightly":"https://hc-ping.com/hidden-part"}')).not.toThrow();
    expect(pings('{"nightly":"https://hc-ping.example/hidden-part"}')).toThrow(
      /^(?!.*hidden-part).*CRONLEASE_PINGS.nightly/,
    );
    expect(() => noticeSettings({ CRONLEASE_PUBLIC_URL: 'x' })).toThrow(/CRONLEASE_PUBLIC_URL/);
  });

  it('allow receivers on this machine under "cronlease dev" alone', () => {
    const ops = { ops: { format: 'slack', url: 'http://127.0.0.1:8080/hook' } };
    const dev = { CRONLEASE_NOTIFY_HOSTS: '127.0.0.1', CRONLEASE_DEV_SECRET: 's'.repeat(32) };
    expect(settings(ops, dev).receivers.size).toBe(1);
    expect(() => settings(ops, { ...dev, WEBSITE_SITE_NAME: 'app' })).toThrow(/use https/);
    expect(() => settings(ops, { CRONLEASE_NOTIFY_HOSTS: '127.0.0.1' })).toThrow(/use https/);
  });
});

describe('notify in the jobs file', () => {
  const job = { schedule: '@hourly' };
  const read = (file: object) => loadJobs(file).jobsFile.jobs[0];

  it('has defaults for the whole file, which a job replaces member by member', () => {
    const notify = { to: ['ops'], after: 3, remind: '4h' };
    const all = ['failure', 'recovery', 'overdue', 'unreadable', 'pause'];
    expect(read({ jobs: { a: job } })?.notify).toBeUndefined();
    expect(read({ notify, jobs: { a: job } })?.notify).toEqual({
      to: ['ops'],
      on: all,
      after: 3,
      remindMs: 14_400_000,
    });
    expect(read({ notify, jobs: { a: { ...job, notify: { after: 1, on: ['failure'] } } } })?.notify).toEqual({
      ...{ to: ['ops'], on: ['failure'], after: 1, remindMs: 14_400_000 },
    });
    expect(read({ notify, jobs: { a: { ...job, notify: false } } })?.notify).toBeUndefined();
    expect(read({ notify: { after: 2 }, jobs: { a: job } })?.notify).toBeUndefined();
    expect(read({ jobs: { a: { ...job, notify: { to: ['x', 'x'] }, ping: 'p' } } })).toMatchObject({
      ...{ notify: { to: ['x'], after: 1 }, ping: 'p' },
    });
  });

  it.each([
    [{ to: [] }, /notify.to/],
    [{ to: ['Ops'] }, /notify.to\[0\]/],
    [{ on: ['failed'] }, /notify.on\[0\]/],
    [{ after: 0 }, /notify.after/],
    [{ remind: '5s' }, /notify.remind.*shorter than 1m/],
    [{ url: 'https://x' }, /notify.url/],
    [true, /notify/],
  ])('refuses %j', (notify, message) => {
    expect(() => loadJobs({ jobs: { a: { ...job, notify } } })).toThrow(message);
  });

  it('names receivers and pings that the app settings lack', () => {
    const { jobsFile } = loadJobs({ jobs: { a: { ...job, notify: { to: ['ops', 'team'] }, ping: 'p' } } });
    const known = settings({ ops: { format: 'slack', url: 'https://hooks.slack.com/x' } });
    expect(unknownNames(jobsFile.jobs, known, new Map()).map(({ path, value }) => [path, value])).toEqual([
      ['jobs.a.notify.to', 'team'],
      ['jobs.a.ping', 'p'],
    ]);
  });
});

describe('a reference to a key vault that Azure could not resolve', () => {
  const reference = '@Microsoft.KeyVault(SecretUri=https://ours.vault.azure.net/secrets/receivers)';
  const env = { CRONLEASE_RECEIVERS: reference, CRONLEASE_PINGS: reference, CRONLEASE_API_KEYS: reference };

  it('is told in one sentence each, and the app goes on without', () => {
    const found = noticeSettings(env);
    expect([found.receivers.size, found.pings.size]).toEqual([0, 0]);
    expect(accessSettings(env).keys).toEqual(accessSettings({}).keys);
    const unresolved = unresolvedSettings(env);
    expect(unresolved.get('CRONLEASE_RECEIVERS')).toBe(
      `App setting CRONLEASE_RECEIVERS is "${reference}", which Azure could not resolve, so no notice is sent: give the ` +
        'identity of keyVaultReferenceIdentity the role Key Vault Secrets User, and compare the address of the secret.',
    );
    expect([...unresolved.keys()]).toEqual(Object.keys(env));
    expect([...unresolvedSettings({ CRONLEASE_RECEIVERS: '{}' })]).toEqual([]);
  });

  it('is all that the start says of receivers', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    try {
      const jobs = { jobs: { a: { schedule: '@hourly', notify: { to: ['ops'] } } } };
      const host = { functionTimeoutMs: undefined, attemptsAtOnce: undefined, maxConcurrentRuns: undefined };
      createCoordinators(
        { jobs, handlers: { a: { run: () => Promise.resolve() } } },
        {
          env: { CRONLEASE_RECEIVERS: reference, CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' },
          host: { ...host, hubAccount: undefined, warnings: [] },
          feed: undefined,
        },
      );
      expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Warning: App setting CRONLEASE_RECEIVERS is/)]]);
    } finally {
      warn.mockRestore();
    }
  });

  it('says nothing more of the names that jobs use', () => {
    const { jobsFile } = loadJobs({ jobs: { a: { schedule: '@hourly', notify: { to: ['ops'] }, ping: 'p' } } });
    expect(unknownNames(jobsFile.jobs, noticeSettings(env), unresolvedSettings(env))).toEqual([]);
  });

  it('stops an app that has no storage without it, and says why', () => {
    const open = (): unknown =>
      openStore({ settings: { CRONLEASE_STORAGE: reference }, container: undefined, clock: systemClock });
    expect(open).toThrow(/^CRONLEASE_STORAGE is "@Microsoft.KeyVault.*could not resolve/);
  });
});
