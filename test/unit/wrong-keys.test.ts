import { describe, expect, it } from 'vitest';
import { createManage, type ManageAnswer, type ManageRequest } from '../../src/manage/serve';
import { addressOf, createWrongKeys, networkOf } from '../../src/manage/limits';
import { settableClock } from '../../src/testing/clock';
import { jobSpec } from '../support/job';
import { keyOfRole, manageBench } from '../support/manage';

const RIGHT = keyOfRole('viewer');
const A = '192.0.2.1:4711';
const B = '198.51.100.7:80';

function bench() {
  const { desk, sim } = manageBench({ jobs: [jobSpec('a', '@hourly')], deployments: 1 });
  const manage = createManage(desk);
  const lines: string[] = [];
  const knock = (address: string, key: string | undefined, path = 'me'): Promise<ManageAnswer> => {
    const headers: Record<string, string | undefined> = { 'x-forwarded-for': address, 'x-cronlease-key': key };
    const request: ManageRequest = {
      ...{ method: 'GET', path, query: new URLSearchParams(), header: (name) => headers[name] },
      ...{ body: () => Promise.resolve(new Uint8Array()), poke: () => Promise.resolve(undefined) },
      reportBug: (_what, error) => {
        throw error;
      },
      reportRefusal: (line) => void lines.push(line),
    };
    return manage(request);
  };
  /** How long the answer takes, in steps of 50 ms, and its status. */
  const timed = async (answer: Promise<ManageAnswer>): Promise<readonly [ms: number, status: number]> => {
    const at = sim.clock.monotonic();
    const seen: number[] = [];
    void answer.then(({ status }) => seen.push(status));
    await sim.clock.advance(0);
    while (seen.length === 0) await sim.clock.advance(50);
    return [sim.clock.monotonic() - at, seen[0] ?? 0];
  };
  return { clock: sim.clock, knock, timed, lines };
}

describe('a wrong key', () => {
  it('is answered later and later, up to 8 s, and starts again after a quiet quarter of an hour', async () => {
    const { clock, knock, timed } = bench();
    const waits: (readonly [number, number])[] = [];
    for (let n = 0; n < 8; n += 1) waits.push(await timed(knock(A, 'guess')));
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000].map((ms) => [ms, 401]));
    await clock.advance(15 * 60_000);
    expect(await timed(knock(A, 'guess'))).toEqual([250, 401]);
  });

  it('is slowed as the password of basic authentication, too', async () => {
    const { desk, sim } = manageBench({ jobs: [], deployments: 1 });
    const headers: Record<string, string> = { authorization: `Basic ${Buffer.from('p:guess').toString('base64')}` };
    const answers: number[] = [];
    const request: ManageRequest = {
      ...{ method: 'GET', path: 'keyed/me', query: new URLSearchParams(), header: (name) => headers[name] },
      ...{ body: () => Promise.resolve(new Uint8Array()), poke: () => Promise.resolve(undefined) },
      ...{ reportBug: () => undefined, reportRefusal: () => undefined },
    };
    void createManage(desk)(request).then(({ status }) => answers.push(status));
    await sim.clock.advance(200);
    expect(answers).toEqual([]);
    await sim.clock.advance(50);
    expect(answers).toEqual([401]);
  });

  it('delays no right key, no login, no health, and no other address', async () => {
    const { knock, timed } = bench();
    for (let n = 0; n < 6; n += 1) await timed(knock(A, 'guess'));
    void knock(A, 'guess');
    expect(await timed(knock(A, RIGHT))).toEqual([0, 200]);
    expect(await timed(knock(A, undefined))).toEqual([0, 401]);
    expect(await timed(knock(A, undefined, 'health'))).toEqual([0, 200]);
    expect(await timed(knock(B, RIGHT))).toEqual([0, 200]);
    expect(await timed(knock(B, 'typo'))).toEqual([250, 401]);
  });

  it('tells nothing about a fourth key while three wait: it is refused unseen', async () => {
    const { clock, knock, timed, lines } = bench();
    const three = [1, 2, 3].map(() => knock(A, 'guess'));
    await clock.advance(0);
    for (const key of ['guess', RIGHT]) expect(await timed(knock(A, key))).toEqual([0, 429]);
    expect((await knock(A, 'guess')).headers).toMatchObject({ 'retry-after': '8' });
    expect(lines.at(-1)).toContain('refused 429 TooManyWrongKeys: GET me from 192.0.2.1:4711, 3 since the start');
    expect(await timed(knock('192.0.2.1:9999', RIGHT))).toEqual([0, 429]);
    expect(await timed(knock(B, RIGHT))).toEqual([0, 200]);
    await clock.advance(1_000);
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(await timed(knock(A, RIGHT))).toEqual([0, 200]);
  });

  it('leaves places of its own to addresses that sent none, when 50 wait in all', async () => {
    const { clock, knock, timed } = bench();
    const all = Array.from({ length: 50 }, (_, n) => knock(`203.0.113.${n}:1`, 'guess'));
    await clock.advance(0);
    expect(await timed(knock('203.0.113.7:1', RIGHT))).toEqual([0, 429]);
    expect(await timed(knock(A, RIGHT))).toEqual([0, 200]);
    expect(await timed(knock(A, 'typo'))).toEqual([0, 401]);
    expect(await timed(knock(A, 'typo'))).toEqual([0, 429]);
    await clock.advance(250);
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([401]));
    expect(await timed(knock('203.0.113.7:1', RIGHT))).toEqual([0, 200]);
  });
});

it('remembers a bounded number of addresses, the last ones', async () => {
  const clock = settableClock();
  const keys = createWrongKeys(clock);
  const signal = new AbortController().signal;
  for (let n = 0; n < 5_000; n += 1) {
    const wait = keys.delay(`10.0.${n >> 8}.${n & 255}`, signal);
    if (n % 40 === 39) await clock.advance(250);
    if (n % 40 === 39) await wait;
  }
  expect(keys.size()).toBe(2_000);
});

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8:1::5]:4711', '2001:db8:1:0::/64'],
    ['2001:0DB8:1:0:ffff::1', '2001:db8:1:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['::1:2:3:4:5:6', '0:0:1:2::/64'],
    ['::::', '::::'],
    ['unknown', 'unknown'],
  ])('%s is of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('is the last hop alone', () => {
    const of = (value: string | undefined): string => addressOf(() => value);
    expect(of('1.1.1.1, 192.0.2.1:80')).toBe('192.0.2.1:80');
    for (const none of [undefined, '', '1.1.1.1, evil', '<script>']) expect(of(none)).toBe('unknown');
  });
});
