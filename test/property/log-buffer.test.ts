import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LogBuffer,
  type LogEntry,
  type LogLine,
  ATTEMPT_LOG,
  ITEM_LOG,
  LINE_CHARACTERS,
  NOTE_CHARACTERS,
  createLogBuffer,
  lineOf,
  linesOf,
  parseEntries,
  storeEntries,
} from '../../src/core/log-entry';
import { MASK, mask, OVERLAP, redactNothing } from '../../src/core/redact';

const SPEAKER = { attempt: 2 };
const HALF = { bytes: 2_000, lines: 10 };

/** Text as handlers may write it: controls, escapes, halves of pairs, long lines. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  fc.constantFrom('\uD800', 'a\uDC00b', '\u001b[31mred\u001b[0m', '\r\n\0', '\u2028\u202e', 'x'.repeat(500)),
);
const level = fc.constantFrom('debug', 'info', 'warn', 'error');
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('add' as const), level, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('progress' as const), note: text }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Plays the steps, and takes the rest at the end. Every line has its number as its time. */
function play(buffer: LogBuffer, steps: readonly Step[]): { taken: LogEntry[][]; said: string[]; notes: string[] } {
  const taken: LogEntry[][] = [];
  const said: string[] = [];
  const notes: string[] = [];
  for (const step of steps) {
    if (step.kind === 'add') {
      said.push(step.text);
      buffer.add(said.length, step.level, step.text);
    } else if (step.kind === 'progress') {
      notes.push(step.note);
      buffer.progress(said.length, { note: step.note });
    } else taken.push([...buffer.take(redactNothing)]);
  }
  buffer.end();
  taken.push([...buffer.take(redactNothing)]);
  return { taken, said, notes };
}

const linesIn = (entries: readonly LogEntry[]): LogLine[] => entries.filter((entry) => 'text' in entry);

describe('the log of an attempt', () => {
  it('has the first half, the gap and the last half, and names every line once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const { taken, said } = play(createLogBuffer(SPEAKER, { half: HALF }), steps);
        const entries = taken.flat().filter((entry) => !('progress' in entry));
        const numbers = entries.flatMap((entry) =>
          Array.from({ length: linesOf(entry) }, (_, index) => entry.n + index),
        );
        expect(numbers).toEqual(said.map((_, index) => index + 1));
        for (const line of linesIn(entries)) expect(line.text).toBe(said[line.n - 1]);
        expect(entries.filter((entry) => 'gap' in entry).length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('keeps no more than its limit in either half, and what it can', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const { taken } = play(createLogBuffer(SPEAKER, { half: HALF }), steps);
        const entries = taken.flat();
        const gap = entries.find((entry) => 'gap' in entry);
        const lines = linesIn(entries);
        const [head, tail] =
          gap === undefined ? [lines, []] : [lines.filter(({ n }) => n < gap.n), lines.filter(({ n }) => n > gap.n)];
        const all = gap === undefined ? 2 : 1;
        for (const half of [head, tail]) {
          expect(storeEntries(half).length).toBeLessThanOrEqual(all * HALF.bytes);
          expect(half.length).toBeLessThanOrEqual(all * HALF.lines);
        }
        // One more line of the longest kind would not have fitted.
        const longest = storeEntries([
          { n: 99, at: new Date(0).toISOString(), ...SPEAKER, level: 'debug', text: 'x'.repeat(500) },
        ]);
        const isFull = tail.length === HALF.lines || storeEntries(tail).length > HALF.bytes - longest.length;
        expect(gap === undefined || isFull).toBe(true);
      }),
    );
  });

  it('takes nothing of the last half before the end, and nothing afterwards', () => {
    const buffer = createLogBuffer(SPEAKER, { half: { bytes: 10_000, lines: 2 } });
    for (let n = 1; n <= 7; n += 1) buffer.add(n, 'info', String(n));
    expect(linesIn(buffer.take(redactNothing)).map(({ n }) => n)).toEqual([1, 2]);
    expect(buffer.news).toBe('none');
    buffer.end();
    expect(buffer.news).toBe('lines');
    expect(buffer.take(redactNothing)).toMatchObject([{ n: 3, gap: { lines: 3 } }, { n: 6 }, { n: 7 }]);
    buffer.add(8, 'info', 'late');
    buffer.progress(8, { note: 'late' });
    expect([buffer.news, buffer.take(redactNothing)]).toEqual(['none', []]);
  });

  it('has only the last progress since it was asked', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const { taken, notes } = play(createLogBuffer(SPEAKER, { half: HALF }), steps);
        const reports = taken.flatMap((entries) => entries.filter((entry) => 'progress' in entry));
        for (const entries of taken) expect(entries.filter((entry) => 'progress' in entry).length).toBeLessThan(2);
        expect(reports.at(-1)?.progress.note).toBe(notes.at(-1)?.slice(0, NOTE_CHARACTERS));
      }),
    );
  });

  it('is stored in printable ASCII, a line for each entry, and read back as it was', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const entries = play(createLogBuffer({ attempt: 1, item: 3 }, ITEM_LOG), steps).taken.flat();
        const stored = storeEntries(entries);
        expect(stored).toMatch(/^(?:[\x20-\x7e]+\n)*$/);
        expect(parseEntries(stored)).toEqual(entries);
      }),
    );
  });

  it('is read as far as cronlease wrote it', () => {
    const entry = { n: 1, at: '2026-01-01T00:00:00.000Z', attempt: 1, level: 'info', text: 'a' };
    const foreign = [
      '{',
      'null',
      '[]',
      '{"n":1}',
      JSON.stringify({ ...entry, level: 'loud' }),
      JSON.stringify({ ...entry, at: '?' }),
    ];
    expect(
      parseEntries(`${foreign.join('\n')}\n${JSON.stringify(entry)}\n${JSON.stringify(entry).slice(0, 20)}`),
    ).toEqual([entry]);
  });

  it('of 1 MB in one line keeps the beginning, and names the rest', () => {
    const line = lineOf(`${'x'.repeat(LINE_CHARACTERS - 1)}😀${'y'.repeat(1_000_000)}`, redactNothing);
    // Half of the pair is not a character.
    expect(line).toBe(`${'x'.repeat(LINE_CHARACTERS - 1)}… (${String(1_000_001)} more characters)`);
  });

  it('cuts a note', () => {
    const buffer = createLogBuffer(SPEAKER, ATTEMPT_LOG);
    buffer.progress(0, { note: 'n'.repeat(5_000), fraction: 0.5 });
    expect(buffer.take(redactNothing)).toMatchObject([
      { progress: { note: 'n'.repeat(NOTE_CHARACTERS), fraction: 0.5 } },
    ]);
  });
});

describe('a mask', () => {
  const parts = fc.array(
    fc.tuple(fc.nat(60), fc.nat(20)).map(([start, length]) => ({ start, end: start + length })),
    { maxLength: 6 },
  );

  it('hides every secret character, keeps every other one up to the cut, and does not make texts much longer', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 80, maxLength: 80 }),
        parts,
        fc.nat(90),
        (plain, spans, most) => {
          const secret = (at: number): boolean => spans.some(({ start, end }) => start <= at && at < end);
          const marked = [...plain].map((char, at) => (secret(at) ? char.toUpperCase() : char)).join('');
          const masked = mask(marked, spans, most);
          expect(masked).not.toMatch(/[AB]/);
          expect(masked.replaceAll(MASK, '')).toBe(
            [...marked.slice(0, most)].filter((char) => /[ab]/.test(char)).join(''),
          );
          expect(masked.length).toBeLessThanOrEqual(2 * most + MASK.length);
        },
      ),
    );
  });

  it('covers a secret that the cut would divide', () => {
    const plain = `${'x'.repeat(95)}secret-key${'y'.repeat(OVERLAP)}`;
    expect(mask(plain, [{ start: 95, end: 105 }], 100)).toBe(`${'x'.repeat(95)}${MASK}`);
  });
});
