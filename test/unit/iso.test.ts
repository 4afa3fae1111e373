import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isoOf } from '../../src/core/iso';
import { runIdAt } from '../../src/core/key';
import type { JobName } from '../../src/core/brand';

const instant = fc.oneof(
  fc.integer({ min: -1e12, max: 1e13 }),
  fc.integer({ min: 0, max: 1e10 }).map((second) => second * 1_000),
  fc.nat(200_000).map((day) => day * 86_400_000),
);

it('writes every instant as Date does', () => {
  const isSame = fc.property(instant, (at) => {
    expect(isoOf(at)).toBe(new Date(at).toISOString());
  });
  fc.assert(isSame, { numRuns: 2_000 });
  expect(isoOf(0.5)).toBe('1970-01-01T00:00:00.000Z');
  expect(() => isoOf(Number.NaN)).toThrow(RangeError);
});

it('makes the same compact time of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e13 }), (at) => {
      const compact = new Date(at).toISOString().replace(/[-:]/g, '').replace('.000Z', 'Z');
      expect(runIdAt('a' as JobName, { scheduledFor: at, request: undefined })).toBe(`a-${compact}`);
    }),
  );
});
