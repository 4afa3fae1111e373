import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatIssue } from '../../src/config/config-error';
import { hostAdvice, limitAdvice, workerAdvice, functionsHost } from '../../src/functions/host-advice';

const ROOT = path.join(__dirname, '../..');

/** What `func init` writes for Node. */
const STOCK = {
  version: '2.0',
  logging: { applicationInsights: { samplingSettings: { isEnabled: true, excludedTypes: 'Request' } } },
  extensionBundle: { id: 'Microsoft.Azure.Functions.ExtensionBundle', version: '[4.*, 5.0.0)' },
};

function folderWith(host: object): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-host-'));
  writeFileSync(path.join(folder, 'host.json'), JSON.stringify(host));
  return folder;
}

/** What is said about a host.json with these members of `storageProvider`. */
function adviceOn(storageProvider: object, env: Record<string, string> = {}) {
  const folder = folderWith({ extensions: { durableTask: { storageProvider } } });
  const { errors, warnings } = hostAdvice(env, folder);
  return { errors: errors.map(formatIssue), warnings: warnings.map(formatIssue) };
}

function withoutPlace(text: string): string {
  return text.replace(/^\S*host\.json:\d+:\d+: /, '');
}

const GOOD = {
  maxQueuePollingInterval: '00:00:02',
  workItemQueueVisibilityTimeout: '00:00:30',
  controlQueueVisibilityTimeout: '00:01:00',
};
const WELL = { errors: [], warnings: [] };

describe('the advice on host.json', () => {
  it('has nothing to say of what is short enough, nor of this app and of the snippet in docs/how-to/existing-app.md', () => {
    expect(adviceOn(GOOD)).toEqual(WELL);
    expect(hostAdvice({}, ROOT)).toEqual(WELL);
    const [, snippet] =
      /```json\n(\{\n {2}"version": "2\.0"[^`]*)```/.exec(
        readFileSync(path.join(ROOT, 'docs/how-to/existing-app.md'), 'utf8'),
      ) ?? [];
    const { extensions } = JSON.parse(snippet ?? '') as { extensions: { durableTask: { storageProvider: object } } };
    expect(adviceOn(extensions.durableTask.storageProvider)).toEqual(WELL);
  });

  it('warns of the defaults of Durable, which the host.json of "func init" leaves as they are', () => {
    const defaults = [
      'extensions.durableTask.storageProvider.maxQueuePollingInterval: is not set, and an idle host looks ' +
        'for work every 30s, and an attempt starts late by up to that long; set it to "00:00:02"',
      'extensions.durableTask.storageProvider.workItemQueueVisibilityTimeout: is not set, and the items and ' +
        'attempts that a killed host had taken stay hidden for 5m, and a fan-out waits for them; set it to "00:00:30"',
      'extensions.durableTask.storageProvider.controlQueueVisibilityTimeout: is not set, and the results and ' +
        'timers that a killed host had taken stay hidden for 5m, and a fan-out waits for them; set it to "00:01:00"',
    ];
    expect(adviceOn({}).warnings.map(withoutPlace)).toEqual(defaults);
    const folder = folderWith(STOCK);
    expect(hostAdvice({}, folder).warnings.map(formatIssue).map(withoutPlace)).toEqual(defaults);
    // registerCoordinator prints what the host of its process has.
    const { warnings } = functionsHost({ WEBSITE_HOSTNAME: 'localhost:7071' }, folder);
    expect(warnings.map(formatIssue).map(withoutPlace)).toEqual(defaults);
    expect(adviceOn({ ...GOOD, maxQueuePollingInterval: '00:00:10' }).warnings).toEqual([
      expect.stringContaining('= "00:00:10": an idle host looks for work every 10s'),
    ]);
  });

  it('warns of a task hub that host.json does not read', () => {
    const env = { TASKHUB_NAME: 'blue' };
    const unread =
      /^TASKHUB_NAME = "blue": has no effect: host.json has (no|another) extensions.durableTask.hubName; set "extensions.durableTask.hubName": "%TASKHUB_NAME%" in host.json$/;
    const about = (hub: object): readonly string[] =>
      hostAdvice(env, folderWith({ extensions: { durableTask: { ...hub, storageProvider: GOOD } } })).warnings.map(
        formatIssue,
      );
    expect(about({})).toEqual([expect.stringMatching(unread)]);
    expect(about({ hubName: 'green' })).toEqual([expect.stringMatching(unread)]);
    expect(about({ hubName: '%TASKHUB_NAME%' })).toEqual([]);
    expect(about({ hubName: 'blue' })).toEqual([]);
  });

  it('warns of what is hidden for long', () => {
    expect(adviceOn({ ...GOOD, workItemQueueVisibilityTimeout: '00:02:00' }).warnings).toEqual([
      expect.stringContaining('= "00:02:00": the items'),
    ]);
  });

  it.each(['00:00:30', '01:00:01', 'soon'])(
    'finds the host unable to start with %s',
    (controlQueueVisibilityTimeout) => {
      const { errors, warnings } = adviceOn({ ...GOOD, controlQueueVisibilityTimeout });
      expect(errors).toEqual([expect.stringMatching(/does not start|not a time span/)]);
      expect(warnings).toEqual([]);
    },
  );

  it('names the line of the member, or of what it is missing in, past comments', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-host-'));
    const write = (text: string): void => writeFileSync(path.join(folder, 'host.json'), text);
    const places = () => hostAdvice({}, folder).warnings.map(({ place }) => place && [place.line, place.column]);
    write(
      `\uFEFF{ // "extensions": {\n  /* two\n lines */ "extensions": {\n    "durableTask": { "storageProvider": {\n` +
        `      "maxQueuePollingInterval": "00:01:00", "partitionCount": 4\n    } }\n  },\n  "x": "// no comment"\n}`,
    );
    expect(places()).toEqual([
      [5, 7],
      [4, 22],
      [4, 22],
    ]);
    expect(hostAdvice({}, folder).warnings[0]?.place?.file).toBe(path.relative('.', path.join(folder, 'host.json')));
    // The host takes a comma too many, and a place that is not known is none.
    write('{"version": "2.0",}');
    expect(places()).toEqual([undefined, undefined, undefined]);
    expect(hostAdvice({}, folder).warnings[0]?.path).toMatch(/^host\.json: extensions\./);
  });

  it('goes by an app setting before the file', () => {
    const setting = 'AzureFunctionsJobHost__extensions__durableTask__storageProvider__workItemQueueVisibilityTimeout';
    expect(adviceOn(GOOD, { [setting]: '00:10:00' }).warnings).toEqual([
      expect.stringMatching(/^host\.json: .*hidden for 10m/),
    ]);
  });

  it('has nothing to say of another storage provider, nor where there is no host.json', () => {
    expect(adviceOn({ type: 'azureManaged' })).toEqual(WELL);
    expect(adviceOn({ type: 'AzureStorage' }).warnings).toHaveLength(3);
    expect(hostAdvice({}, mkdtempSync(path.join(tmpdir(), 'cronlease-host-')))).toEqual(WELL);
  });
});

describe('the advice on a limit of handlers', () => {
  it('warns of one that the limit of the host makes useless', () => {
    expect(limitAdvice(undefined, 20)).toEqual([]);
    expect(limitAdvice(19, 20)).toEqual([]);
    const [warning, ...others] = limitAdvice(20, 20).map(formatIssue);
    expect(others).toEqual([]);
    expect(warning).toContain('CRONLEASE_MAX_CONCURRENT_RUNS');
    expect(warning).toContain('the host runs 20 activities at once in one process');
    expect(warning).toContain('must be less than 20');
  });
});

describe('the names of members of host.json', () => {
  it('may be in any case, as for the host', () => {
    const StorageProvider = Object.fromEntries(
      Object.entries(GOOD).map(([name, value]) => [name.toUpperCase(), value] as const),
    );
    const folder = folderWith({ Extensions: { durabletask: { HubName: '%TASKHUB_NAME%', StorageProvider } } });
    expect(hostAdvice({ TASKHUB_NAME: 'hub' }, folder)).toEqual(WELL);
  });
});

describe('the advice on worker processes', () => {
  const warningsOf = (count: string | undefined) => {
    const env = { WEBSITE_HOSTNAME: 'localhost:7071', FUNCTIONS_WORKER_PROCESS_COUNT: count };
    return functionsHost(env, folderWith({ extensions: { durableTask: { storageProvider: GOOD } } })).warnings;
  };

  it('warns of several, because the host gives the ticks to them in turn', () => {
    for (const one of [undefined, '', '1']) expect(warningsOf(one)).toEqual([]);
    expect(warningsOf('4').map(formatIssue)).toEqual([
      'FUNCTIONS_WORKER_PROCESS_COUNT = "4": the host gives each tick to another of its 4 processes, so that each lists ' +
        'the jobs by itself, and "cronlease doctor" takes them for deployments that share a name; set it to 1, or ' +
        'leave it out',
    ]);
  });

  it('warns where the host starts more of them by itself, which it does unless their number is set', () => {
    const growing = (grows: string, count?: string) => {
      const env = { FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED: grows, FUNCTIONS_WORKER_PROCESS_COUNT: count };
      return workerAdvice(env).map(formatIssue);
    };
    for (const [grows, count] of [['false'], ['True', '1'], ['1']] as const) expect(growing(grows, count)).toEqual([]);
    expect(growing('True')).toEqual([
      'FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED = "True": the host gives each tick to another of its processes, so ' +
        'that each lists the jobs by itself, and "cronlease doctor" takes them for deployments that share a name; ' +
        'leave it out',
    ]);
  });
});
