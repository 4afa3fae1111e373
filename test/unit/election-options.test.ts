import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { LeaderElection } from '../../src/election/election';
import { ElectionOptionsError, type LeaderElectionOptions, checkOptions } from '../../src/election/options';
import { LEASES, OPTIONS } from '../support/election';

const root = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** No call reaches it. */
const ELSEWHERE = { storage: 'postgres://app:s3cret@db.invalid/app?sslmode=verify-full', container: undefined };

function problemsOf(changes: Readonly<Record<string, unknown>>): readonly string[] {
  try {
    checkOptions({ ...OPTIONS, ...changes }, () => 'me', LEASES);
  } catch (error) {
    if (error instanceof ElectionOptionsError) return error.problems;
    throw error;
  }
  return [];
}

describe('the options of an election', () => {
  it('have defaults that fit each other', () => {
    const { task, ...settings } = checkOptions(OPTIONS, () => 'me', LEASES);
    expect(typeof task).toBe('function');
    expect(settings).toEqual({
      name: 'a',
      id: 'me',
      leaseMs: 30_000,
      pollMs: 10_000,
      graceMs: 5_000,
      stallAfterMs: undefined,
      healthCheck: undefined,
      healthIntervalMs: 5_000,
      healthTimeoutMs: 5_000,
      afterTask: 'campaign',
      backoffMs: 5_000,
      maxBackoffMs: 60_000,
    });
    for (const lease of ['15s', '60s', 15_000, 22_500]) expect(problemsOf({ lease })).toEqual([]);
  });

  it.each([
    [{ container: undefined }, /container is missing: use a ContainerClient/],
    [{ container: {} }, /container is an object: use a ContainerClient .* or give the store as storage/],
    [
      { container: 'UseDevelopmentStorage=true' },
      /container is a text: use a ContainerClient .* give the store as storage/,
    ],
    [{ storage: 'postgres://app@db/app' }, /container is a ContainerClient, and storage names a place too: leave one/],
    [{ ...ELSEWHERE, storage: ' ' }, /storage is empty: use a connection string, or the URL of a store/],
    [{ ...ELSEWHERE, storage: 5432 }, /storage is 5432: use a connection string/],
    [
      { ...ELSEWHERE, storage: 'mysql://app@db/app' },
      /^storage begins with mysql:\/\/, which no store here uses: docs/,
    ],
    [
      { ...ELSEWHERE, storage: 'AccountName=a' },
      /^storage is not a connection string of a storage account: it has neither/,
    ],
    [{ ...ELSEWHERE, storage: 'postgres://a,b/app' }, /^storage is not a PostgreSQL URL: it names several hosts/],
    [{ ...ELSEWHERE, container: 'No_Schema' }, /^container "No_Schema" is not a container name: use 3 to 63/],
    [{ ...ELSEWHERE, container: 5 }, /^container is 5: beside storage, use the name of a container/],
    [{ name: undefined }, /name is missing: use 1 to 63/],
    [{ name: 'With Space' }, /name is "With Space"/],
    [{ name: 'a'.repeat(64) }, /name is/],
    [{ task: undefined }, /task is missing: use a function/],
    [{ lease: '14s' }, /lease is "14s": use a duration from 15s to 1m/],
    [{ lease: '61s' }, /lease/],
    [{ lease: '20 seconds' }, /such as "45s"/],
    [{ lease: Number.NaN }, /lease is NaN/],
    [{ lease: '15s', pollInterval: '16s' }, /pollInterval is "16s": use a duration from 0\.5s to 15s/],
    [{ pollInterval: 10 }, /pollInterval is 10/],
    [{ lease: '15s', grace: '8s' }, /grace is 8s, so a task could outlive its lease of 15s: use less than 8s/],
    [{ stallAfter: 0 }, /stallAfter is 0/],
    [{ healthInterval: '1s' }, /healthInterval has no effect without healthCheck/],
    [{ healthCheck: true }, /healthCheck is true: use a function/],
    [{ backoff: '2m' }, /backoff is 2m, longer than maxBackoff \(1m\)/],
    [{ afterTask: 'end' }, /afterTask is "end": use "campaign" or "stop"/],
    [{ id: 'two words' }, /id is "two words"/],
    [{ leaseMs: 15_000 }, /leaseMs is not known: did you mean "lease"\?/],
    [{ onError: 'log' }, /onError is "log"/],
  ])('are refused with what is wrong: %o', (changes, message) => {
    const problems = problemsOf(changes);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  it('name a store, and a container in it or none', () => {
    expect(problemsOf(ELSEWHERE)).toEqual([]);
    expect(problemsOf({ ...ELSEWHERE, container: 'elections' })).toEqual([]);
    expect(problemsOf({ storage: 'UseDevelopmentStorage=true', container: undefined })).toEqual([]);
  });

  it.each(['postgres://app:s3cret@db:port/app', 'postgres://app:s3#cret@db/app', 'AccountKey=s3cret', 's3cret://db'])(
    'show nothing of a connection that is refused: %s',
    (storage) => {
      const problems = problemsOf({ ...ELSEWHERE, storage });
      expect(problems).toHaveLength(1);
      expect(problems[0]).not.toContain('cret@');
      expect(problems[0]?.replace('s3cret://', '')).not.toContain('s3cret');
    },
  );

  it('are refused with everything that is wrong, at once', () => {
    const options: object = { lease: '1s', grace: '1h', name: 'NO' };
    expect(() => new LeaderElection(options as LeaderElectionOptions)).toThrow(
      expect.objectContaining({
        code: 'ElectionOptions',
        problems: expect.toSatisfy((all: string[]) => all.length === 5),
      }),
    );
    expect(() => Reflect.construct(LeaderElection, [])).toThrow(/pass an object/);
  });

  it('name an instance by its host and process, and make no call', () => {
    const [one, other] = [new LeaderElection(OPTIONS), new LeaderElection(OPTIONS)];
    expect(one.id).toContain(String(process.pid));
    expect(one.id).not.toBe(other.id);
    expect(one.isLeader).toBe(false);
  });
});

describe('trouble', () => {
  /** Starts an election whose storage fails at once, and stops it after the first report. */
  async function troubled(listen: (election: LeaderElection, heard: (error: unknown) => void) => void, onError?: true) {
    const heard: unknown[] = [];
    let told = (): void => undefined;
    const first = new Promise<void>((resolve) => (told = resolve));
    const hear = (error: unknown): void => {
      heard.push(error);
      told();
    };
    const election = new LeaderElection({ ...OPTIONS, ...(onError && { onError: hear }) });
    listen(election, hear);
    election.start();
    await first;
    await election.stop();
    return heard;
  }

  it('goes to onError, to listeners, or else to the console', async () => {
    const expected = [expect.objectContaining({ code: 'StoreUnavailable' })];
    expect(await troubled(() => undefined, true)).toEqual(expected);
    expect(await troubled((election, hear) => election.on('error', hear))).toEqual(expected);
    const print = vi.spyOn(console, 'error');
    const printed = await troubled((_, hear) => print.mockImplementation((_text, error) => hear(error)));
    expect(printed).toEqual(expected);
    print.mockRestore();
  });

  it('of a store that cannot be reached names it without its password', async () => {
    const heard: unknown[] = [];
    const election = new LeaderElection({
      storage: 'postgres://app:s3cret@127.0.0.1:9/app',
      name: 'a',
      task: () => undefined,
      onError: (error) => heard.push(error),
    });
    await expect(election.leader()).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringMatching(/^(?!.*s3cret).*postgres:\/\/127\.0\.0\.1:9\/app\/cronlease/),
    });
    await election.stop();
  });

  it('of a listener harms nobody else', async () => {
    const heard = await troubled((election, hear) => {
      election.on('error', () => {
        throw new Error('a listener');
      });
      vi.spyOn(console, 'error').mockImplementation((_text, error) => hear(error));
    });
    expect(heard).toEqual([expect.objectContaining({ message: 'a listener' })]);
    vi.restoreAllMocks();
  });

  it('is no reason to start again what was stopped', async () => {
    const election = new LeaderElection(OPTIONS);
    await election.stop();
    expect(() => election.start()).toThrow(expect.objectContaining({ code: 'ElectionStopped' }));
  });
});

describe('docs/how-to/leader-election.md', () => {
  const page = read('docs/how-to/leader-election.md');
  const section = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

  it('has every option, and every reason why a term ends', () => {
    const membersOf = (file: string, head: string): (string | undefined)[] => {
      const [, content = ''] = new RegExp(`export ${head}\\s(.*?)\n(?:}|    };)\n`, 's').exec(read(file)) ?? [];
      return [...content.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name);
    };
    const place = membersOf('src/election/options.ts', 'type ElectionPlace =');
    const members = new Set([...place, ...membersOf('src/election/options.ts', 'interface CampaignOptions')]);
    expect(members.size).toBeGreaterThan(10);
    for (const member of members) expect(section('Options')).toContain(`\`${member ?? ''}\``);
    const reasons = /export type TermEnd =(.*?);/s.exec(read('src/election/leadership.ts'))?.[1] ?? '';
    const listed = [...section('A term').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    expect(listed).toEqual([...reasons.matchAll(/'(\w+)'/g)].map(([, name]) => name));
  });

  it('has the defaults that the code has', () => {
    const presets = [...section('Options').matchAll(/`(\w+)` \(`(\w+)`\)/g)].map(([, option = '', preset = '']) => [
      option,
      preset,
    ]);
    const given = { ...OPTIONS, ...Object.fromEntries(presets), healthCheck: () => true };
    const settings = checkOptions(given, () => 'me', LEASES);
    expect(presets.length).toBeGreaterThan(5);
    expect({ ...settings, healthCheck: undefined }).toEqual(checkOptions(OPTIONS, () => 'me', LEASES));
  });
});
