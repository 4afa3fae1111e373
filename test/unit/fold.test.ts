import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { folded } from '../../src/cli/fit';
import { shown, style } from '../../src/cli/output';

const SENTENCE = 'report  changed: schedule, and each further word of this line stands in at most eighty columns of it';

describe('a folded text', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it('has lines of at most 80 columns, all but the first indented', () => {
    expect(folded(SENTENCE)).toEqual([
      'report  changed: schedule, and each further word of this line stands in at most',
      '  eighty columns of it',
    ]);
  });

  it('has the same lines in colour', () => {
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('FORCE_COLOR', '1');
    const [job = '', ...rest] = SENTENCE.split('  ');
    const lines = folded([style('bold', job), ...rest].join('  ')).map(shown);
    expect(lines[0]).toContain('\u001b[1mreport\u001b[22m  changed');
    expect(lines.map(stripVTControlCharacters)).toEqual(folded(SENTENCE));
  });
});
