import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, parseJson } from '../../src/config/json';

describe('reading JSON', () => {
  it('gives what JSON.parse gives', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 2, '\t'), (text, indent) => {
        const pretty = JSON.stringify(JSON.parse(text), null, indent);
        expect(parseJson(pretty).value).toEqual(JSON.parse(pretty));
      }),
    );
  });

  it('takes and refuses what JSON.parse takes and refuses', () => {
    const parts = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\u00e4\\n"',
      '"\\x"',
      '"',
      '1',
      '-0.5e+3',
      '01',
      '.5',
      '-',
      'true',
      'null',
      'nul',
      ' ',
      '\n',
      '\u00a0',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (list) => {
        const text = list.join('');
        const expected = attempt(() => JSON.parse(text) as unknown);
        const found = attempt(() => parseJson(text).value);
        expect('value' in found).toBe('value' in expected);
        if ('value' in found && 'value' in expected) expect(found.value).toEqual(expected.value);
        else expect(found).toMatchObject({ error: expect.any(JsonError) });
      }),
      { numRuns: 5000 },
    );
  });

  it('keeps a member called __proto__', () => {
    const { value } = parseJson('{"__proto__": {"x": 1}}');
    expect(Object.entries(Object(value))).toEqual([['__proto__', { x: 1 }]]);
  });

  it('tells members that come twice, at any depth', () => {
    const { value, duplicates } = parseJson('{"a": 1,\n "b": [{"c": 1, "c": 2}], "a": 3}');
    expect(value).toEqual({ a: 3, b: [{ c: 2 }] });
    expect(duplicates).toEqual([
      { path: ['b', 0, 'c'], value: 2, line: 2, column: 17 },
      { path: ['a'], value: 3, line: 2, column: 27 },
    ]);
  });

  it('has a position for each member and item, and that of the parent for what is missing', () => {
    const { positionAt } = parseJson('\n {\n  "a": {\r\n\t"x.y": [\n1,  {"z" : null}]}, "b": 3}');
    const at = (...path: (string | number)[]): string => Object.values(positionAt(path)).join(':');
    expect(at()).toBe('2:2');
    expect(at('a')).toBe('3:3');
    expect(at('a', 'x.y')).toBe('4:2');
    expect(at('a', 'x.y', 0)).toBe('5:1');
    expect(at('a', 'x.y', 1)).toBe('5:5');
    expect(at('a', 'x.y', 1, 'z')).toBe('5:6');
    expect(at('a', 'x.y', 2, 'z')).toBe('4:2');
    expect(at('a', 'toString')).toBe('3:3');
    expect(at('b')).toBe('5:21');
    expect(at('c', 'd')).toBe('2:2');
  });
});

function attempt(run: () => unknown): { value: unknown } | { error: unknown } {
  try {
    return { value: run() };
  } catch (error) {
    return { error };
  }
}
