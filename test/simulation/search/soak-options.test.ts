import { describe, expect, it } from 'vitest';
import { PLANTED } from '../faults/planted';
import { soakOptions } from './soak-options';

const ask = (...args: string[]) => soakOptions(args, Date.UTC(2026, 0, 1));

describe('npm run soak', () => {
  it('soaks for five minutes from a seed that the time gives', () => {
    const options = ask();
    expect(options).toMatchObject({ kind: 'soak', minutes: 5, histories: undefined });
    expect(soakOptions([], Date.UTC(2026, 0, 2))).not.toEqual(options);
  });

  it('does as many histories, or as many minutes, as it is told', () => {
    expect(ask('--first', '7', '--histories', '20')).toMatchObject({ first: 7, histories: 20, minutes: undefined });
    expect(ask('--minutes', '0.5', '--plant', 'no-mark')).toMatchObject({ minutes: 0.5, planted: { name: 'no-mark' } });
    expect(ask('--seed', '3575')).toEqual({ kind: 'replay', seed: 3575, mix: 'plain', planted: undefined });
    expect(ask('--seed', '3575', '--mix', 'loss')).toMatchObject({ kind: 'replay', mix: 'loss' });
    expect(ask('--mix', 'wide', '--minutes', '2')).toMatchObject({ kind: 'soak', mix: 'wide', minutes: 2 });
    expect(ask('--minutes', '2')).toMatchObject({ mix: 'plain' });
    expect(ask('--each', '20000')).toEqual({
      ...{ kind: 'each', each: 20_000, of: 'mixes', minutes: undefined },
    });
    expect(ask('--pairs', '2000')).toMatchObject({ kind: 'each', each: 2_000, of: 'pairs' });
    expect(ask('--mix', 'kills+requires+failover')).toMatchObject({ mix: 'requires+kills+failover' });
    expect(ask('--each', '20000', '--minutes', '30')).toMatchObject({ minutes: 30 });
    expect(ask('--planted')).toEqual({ kind: 'planted', all: PLANTED });
    expect(ask('--planted', '--plant', 'no-mark')).toMatchObject({ all: [{ name: 'no-mark' }] });
    expect(ask('--help')).toEqual({ kind: 'help' });
  });

  it.each([
    [['--seed', 'x'], '--seed is "x": give a whole number'],
    [['--first', '0'], '--first is "0": give a whole number'],
    [['--histories', '1.5'], '--histories is "1.5"'],
    [['--minutes', '-1'], '--minutes'],
    [['--minutes', 'long'], '--minutes is "long": give a number above 0'],
    [['--plant', 'nothing'], 'no fault to plant. There are: '],
    [['--mix', 'all'], '--mix is "all", which is no mix. There are: plain, wide, '],
    [['--mix', 'kills+all'], '--mix is "kills+all", which is no mix'],
    [['--mix', 'kills+kills'], 'Several are joined by +, each once'],
    [['--pairs', '20', '--each', '20'], 'does not go with --'],
    [['--planted', '--mix', 'wide'], '--planted does not go with --mix'],
    [['--each', '20', '--mix', 'wide'], '--each does not go with --mix'],
    [['--seed', '1', '--minutes', '2'], '--seed does not go with --minutes'],
    [['--planted', '--seed', '2'], '--planted does not go with --seed'],
    [['--sed', '1'], "Unknown option '--sed'"],
    [['3575'], 'Unexpected argument'],
  ])('refuses %j', (args, message) => {
    expect(() => ask(...args)).toThrow(message);
  });
});
