import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { LINE_CHARACTERS } from '../../src/core/log-entry';
import { describeError } from '../../src/coordinator/attempt/call-handler';
import { keepEndOf, keptPiece } from '../../src/coordinator/run-pieces';
import { type OrchestrationEnd, parseOrchestrationEnd } from '../../src/core/orchestration';
import { OVERLAP, redactJson } from '../../src/core/redact';
import { redactSetting } from '../../src/functions/redact';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';

function redactorOf(...patterns: readonly string[]) {
  const redact = redactSetting({ CRONLEASE_REDACT: JSON.stringify(patterns) });
  if (redact === undefined) throw new Error('there is nothing to redact');
  return redact;
}

describe('CRONLEASE_REDACT', () => {
  it.each([undefined, '', '[]'])('%j hides nothing', (text) => {
    expect(redactSetting(text === undefined ? {} : { CRONLEASE_REDACT: text })).toBeUndefined();
  });

  it('hides what its patterns match, whichever of them', () => {
    const redact = redactorOf('Bearer \\S+', '(?<=password=)[^&\\s]+', 'sécret\\p{L}*');
    expect(redact(['Bearer a.b-c, password=1&user=2', 'le sécretÉ 😀', 'nothing'], 100)).toEqual([
      '*** password=***&user=2',
      'le *** 😀',
      'nothing',
    ]);
  });

  it('hides a secret that two patterns match in part, and one that the cut divides', () => {
    expect(redactorOf('abc', 'cde')(['xabcdex'], 100)).toEqual(['x***x']);
    const line = `${'x'.repeat(LINE_CHARACTERS - 3)}key-${'1'.repeat(OVERLAP - 2)}`;
    expect(redactorOf('key-1{20,}')([line], LINE_CHARACTERS)).toEqual([`${'x'.repeat(LINE_CHARACTERS - 3)}***`]);
  });

  it('withholds lines for which it has no time, and says so', () => {
    // Fast on what it is tried on, and not on this.
    const redact = redactorOf('(z+z+)+y');
    const started = performance.now();
    const [before, slow, after] = redact(['zzzy', 'z'.repeat(60), 'plain'], 100);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(before).toBe('***');
    expect(slow).toBe('(withheld: the patterns of CRONLEASE_REDACT took too long)');
    expect(after).toBe(slow);
    expect(redact(['plain'], 100)).toEqual(['plain']);
  });

  it.each([
    ['Bearer', /CRONLEASE_REDACT is "Bearer": it is not JSON\. Write a list/],
    ['{"a":1}', /it is not a list\. Write a list/],
    [JSON.stringify(Array(51).fill('a')), /it has 51 patterns\. Write a list of up to 50/],
    ['["a",5]', /CRONLEASE_REDACT\[1\] is "5": must be a regular expression/],
    [
      JSON.stringify(['a'.repeat(1_001)]),
      /CRONLEASE_REDACT\[0\] is "a{40}…": must be a regular expression of up to 1000/,
    ],
    ['["ok","(a"]', /CRONLEASE_REDACT\[1\] is "\(a": .*Unterminated group.*flag u/],
    ['["a*"]', /CRONLEASE_REDACT\[0\] is "a\*": it matches the empty text/],
    ['["(a+)+$"]', /CRONLEASE_REDACT\[0\] is .*takes seconds.*Avoid a repetition in a repetition/],
    ['["(\\\\d+)*x"]', /takes seconds/],
  ])('%s is refused, with what would be right', (text, message) => {
    expect(() => redactSetting({ CRONLEASE_REDACT: text })).toThrow(message);
  });

  it('takes usual patterns, and soon', () => {
    const started = performance.now();
    const usual = [
      'Bearer [\\w.~+/-]+=*',
      'AccountKey=[^;]+',
      'sig=[^&\\s]+',
      '\\b\\d{4}[ -]?\\d{4}[ -]?\\d{4}[ -]?\\d{4}\\b',
      '[\\w.+-]+@[\\w-]+\\.[\\w.]+',
      '"password"\\s*:\\s*"[^"]*"',
    ];
    expect(redactorOf(...usual)(['mail me@example.com'], 100)).toEqual(['mail ***']);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('a secret that is not in one piece', () => {
  const redact = redactorOf('Bearer \\S+', '(?<=password=)[^&\\s]+', '"token":"[^"]*"', '\\b\\d{16}\\b');

  it.each([
    ['with a character without a width', 'x Bea\u200brer abc\u2060def y', 'x *** y'],
    ['in two colours', 'pass\u001b[31mword=\u001b[0mabc and', 'pass\u001b[31mword=\u001b[0m*** and'],
    ['with control characters', 'Bearer\u0007 a\u0000bc', '***'],
    ['beside a joiner that belongs there', '👩\u200d💻 Bearer abc', '👩\u200d💻 ***'],
  ])('%s is hidden', (_what, text, shown) => {
    expect(redact([text], 1_000)).toEqual([shown]);
  });

  it('of a result is hidden in texts, numbers, keys and members', () => {
    const result = {
      ...{ token: 'abc', note: 'Bearer abc', card: 4_111_111_111_111_111, count: 3, none: null },
      list: [{ 'password=abc': true }, 'fine'],
    };
    expect(redactJson(result, redact)).toEqual({
      ...{ token: '***', note: '***', card: '***', count: 3, none: null },
      list: [{ 'password=***': true }, 'fine'],
    });
  });

  it('of an error is hidden in each of its texts, before they are cut', () => {
    const cause = Object.assign(new Error('Bearer abc'), { code: 'password=abc' });
    const error = describeError(new Error(`${'x'.repeat(8_190)}Bearer abc`, { cause }), redact);
    expect(JSON.stringify(error)).not.toMatch(/abc|Bear/);
    expect(error.cause).toMatchObject({ message: '***', code: 'password=***' });
  });

  it.each<[OrchestrationEnd, unknown]>([
    [
      { state: 'succeeded', result: '{"token":"abc","url":"x?password=abc","rows":3}' },
      { state: 'succeeded', result: '{"token":"***","url":"x?password=***","rows":3}' },
    ],
    [
      { state: 'failed', error: { name: 'OrchestrationError', message: 'Bearer abc' } },
      { state: 'failed', error: { name: 'OrchestrationError', message: '***' } },
    ],
  ])('of the end of an orchestration is hidden before it is kept: %j', async (end, kept) => {
    const store = memoryService(systemClock).open();
    const place = { job: 'close' as JobName, key: '1-s', token: 3 };
    await keepEndOf({ clock: systemClock, store, redact }, place, end);
    const text = await store.readPiece(place.job, place.key, keptPiece(3, 1));
    expect(parseOrchestrationEnd(text ?? '')).toEqual(kept);
  });

  it('is searched for quickly, line by line', () => {
    const started = performance.now();
    for (let line = 0; line < 1_000; line += 1) redact([`line ${String(line)} without a secret`], 100);
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
