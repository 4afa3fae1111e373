import { describe, expect, it } from 'vitest';
import { EVENT_PREFIX, formatEvent } from '../../src/core/event';
import { ForeignMetadataError } from '../../src/core/metadata';
import { brief } from '../../src/core/text';

describe('what others wrote', () => {
  it('is passed on whole up to 300 characters, and then in its beginning', () => {
    expect(brief('a'.repeat(300))).toBe('a'.repeat(300));
    expect(brief(`b${'a'.repeat(300)}`)).toBe(`b${'a'.repeat(298)}…`);
  });

  it('is never cut within a character', () => {
    expect(brief(`${'a'.repeat(298)}😀😀`)).toBe(`${'a'.repeat(298)}…`);
    expect(brief(`${'a'.repeat(297)}😀😀`)).toBe(`${'a'.repeat(297)}😀…`);
  });

  it('makes no event longer than a line of a log may be', () => {
    const line = formatEvent({ event: 'unhealthy', at: 0, reason: `503 ${'<Blob>'.repeat(10_000)}` }, 'east');
    const { reason } = JSON.parse(line.slice(EVENT_PREFIX.length)) as { reason: string };
    expect(reason).toHaveLength(300);
    expect(reason).toMatch(/^503 <Blob>.*…$/);
  });

  it('makes no error longer', () => {
    const error = new ForeignMetadataError('cursor', '"'.repeat(8_000), 'a time');
    expect(error.message.length).toBeLessThan(500);
    expect(error.message).toMatch(/^metadata "cursor" is .*expected a time/);
  });
});
