import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Urgency, createTurns } from '../../src/stores/azure-blob/few-connections';

/** Calls that note their names when they are sent, on a clock that moves by hand. */
function line(limit: number) {
  let now = 0;
  const turns = createTurns(limit, () => now);
  const sent: string[] = [];
  const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    sent,
    async call(name: string, signal?: AbortSignal, urgency?: Urgency): Promise<void> {
      turns.take(signal, urgency).then(
        () => sent.push(name),
        () => sent.push(`${name} gave up`),
      );
      await settled();
    },
    async end(): Promise<void> {
      turns.end();
      await settled();
    },
    pass(ms: number): void {
      now += ms;
    },
  };
}

describe('turns to send calls', () => {
  it('are given at once up to the limit, and then in order', async () => {
    const { call, end, sent } = line(2);
    for (const name of ['a', 'b', 'c', 'd']) await call(name);
    expect(sent).toEqual(['a', 'b']);
    await end();
    await call('e');
    expect(sent).toEqual(['a', 'b', 'c']);
    await end();
    await end();
    expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('go last to calls that have waited for too long, the oldest of them first', async () => {
    const { call, end, pass, sent } = line(1);
    for (const name of ['a', 'old', 'less old']) await call(name);
    pass(3_001);
    await call('new');
    for (let left = 3; left > 0; left -= 1) await end();
    expect(sent).toEqual(['a', 'new', 'old', 'less old']);
  });

  it('go first to the calls whose leases end first, and last to those that begin something', async () => {
    const { call, end, pass, sent } = line(1);
    await call('a');
    await call('begins', undefined, { begins: true });
    await call('has time');
    await call('later', undefined, { deadline: 20_000 });
    await call('sooner', undefined, { deadline: 10_000 });
    await call('as soon', undefined, { deadline: 10_000 });
    pass(3_001);
    await call('begins too', undefined, { begins: true });
    await call('latest', undefined, { deadline: 30_000 });
    for (let left = 8; left > 0; left -= 1) await end();
    expect(sent).toEqual(['a', 'latest', 'sooner', 'as soon', 'later', 'has time', 'begins too', 'begins']);
  });

  it('are not given to a call whose caller has given up', async () => {
    const { call, end, sent } = line(1);
    const caller = new AbortController();
    await call('a');
    await call('b', caller.signal);
    await call('c');
    caller.abort();
    await end();
    expect(sent).toEqual(['a', 'b gave up', 'c']);
    await call('d', caller.signal);
    expect(sent.at(-1)).toBe('d gave up');
  });

  it('are never more than the limit, and each call gets one or gives up', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('call' as const) },
      { weight: 3, arbitrary: fc.constant('end' as const) },
      fc.constant('give up' as const),
      fc.constant('wait' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), async (limit, steps) => {
        const { call, end, pass, sent } = line(limit);
        const callers: AbortController[] = [];
        let ended = 0;
        const open = (): number => sent.filter((name) => !name.endsWith('gave up')).length - ended;
        for (const what of steps) {
          if (what === 'call') {
            callers.push(new AbortController());
            await call(String(callers.length), callers.at(-1)?.signal);
          } else if (what === 'give up') callers[Math.floor(callers.length / 2)]?.abort();
          else if (what === 'wait') pass(2_000);
          else if (open() > 0) {
            ended += 1;
            await end();
          }
          expect(open()).toBeLessThanOrEqual(limit);
        }
        while (open() > 0) {
          ended += 1;
          await end();
        }
        expect(new Set(sent.map((name) => name.split(' ')[0])).size).toBe(callers.length);
        expect(sent).toHaveLength(callers.length);
      }),
    );
  });
});
