import { describe, expect, it } from 'vitest';
import { ElectionsOptionError, electionsOptions } from './options';
import { SEEDS } from './seeds';

describe('the command line of the comparison', () => {
  it('has the numbers of the page by default', () => {
    expect(electionsOptions([])).toMatchObject({
      ...{ kind: 'compare', seeds: SEEDS, sizes: [5, 3], out: undefined },
      plotted: { scenario: { name: 'partition' }, seed: 1 },
    });
    expect(electionsOptions(['--out', 'docs'])).toMatchObject({ out: 'docs' });
  });

  it('takes others', () => {
    const args = ['--seeds', '3', '--instances', '7', '--plot', 'slow links', '--seed', '4'];
    expect(electionsOptions(args)).toMatchObject({
      ...{ seeds: 3, sizes: [7] },
      plotted: { scenario: { name: 'slow links' }, seed: 4 },
    });
    expect(electionsOptions(['--help'])).toEqual({ kind: 'help' });
  });

  it.each([
    [['--seeds', 'many'], '--seeds: "many": use a whole number from 1 on'],
    [['--seed', '0'], '--seed: "0"'],
    [['--instances', '2'], '--instances: "2": use a whole number from 3 on'],
    [['--plot', 'flood'], 'there is no scenario "flood": use one of calm start, crash'],
    [['--out', 'docs', '--instances', '3'], 'leave --instances and --seeds out'],
    [['--out', 'docs', '--seeds', '3'], 'leave --instances and --seeds out'],
    [['--verbose'], "Unknown option '--verbose'"],
  ])('refuses %j', (args, message) => {
    expect(() => electionsOptions(args)).toThrow(ElectionsOptionError);
    expect(() => electionsOptions(args)).toThrow(message);
  });
});
