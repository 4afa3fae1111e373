import { describe, expect, it } from 'vitest';
import { EVENT_PREFIX, formatEvent } from '../../src/core/event';
import { ForeignMetadataError } from '../../src/core/metadata';
import { brief, oneLine, printable, printableJson } from '../../src/core/text';
import type { Cluster } from '../../src/local/cluster/cluster';
import { humanPrinter, jsonPrinter } from '../../src/cli/dev/print';
import { withoutSecrets } from '../../src/local/cluster/secrets';

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

describe('what a terminal would obey', () => {
  const hostile = 'a\u001b[2J\u009b31m\u0007\r\u007f\u202e\u2028\u200b\ufeff\u00ad\u3164\u{e0041}b';
  const shown = 'a\\u001b[2J\\u009b31m\\u0007\\u000d\\u007f\\u202e\\u2028\\u200b\\ufeff\\u00ad\\u3164\\udb40\\udc41b';

  it('is shown, and lines and tabs stay', () => {
    expect(printable(`${hostile}\n\tc é 😀 ❤️`)).toBe(`${shown}\n\tc é 😀 ❤️`);
    expect(oneLine(`${hostile}\n\tc`)).toBe(`${shown}\\n\\u0009c`);
  });

  it('is JSON that means the same', () => {
    const value = { [hostile]: [hostile, 'é\n'] };
    for (const indent of [undefined, 2]) {
      const text = printableJson(value, indent);
      expect(text).not.toMatch(/[^\P{Cc}\n]|[\u202e\u2028\u200b\ufeff\u00ad\u3164]|[\u{e0000}-\u{e0fff}]/u);
      expect(JSON.parse(text)).toStrictEqual(value);
    }
  });
});

describe('a connection string that is shown', () => {
  it.each([
    [
      'AccountName=acme;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net',
      'AccountName=acme;EndpointSuffix=core.windows.net',
    ],
    ['BlobEndpoint=https://a.b/;SharedAccessSignature=sv=1&sig=secret', 'BlobEndpoint=https://a.b/'],
    ['BlobEndpoint=https://a.b/c?sv=1&sig=secret;accountkey = secret', 'BlobEndpoint=https://a.b/c'],
    ['BlobEndpoint=https://who:secret@a.b/c', 'BlobEndpoint=https://a.b/c'],
    ['postgres://who:sec;ret@h:5432/db?password=secret', 'postgres://h:5432/db'],
    ['postgresql://who:sec@re?t@h/db', 'postgresql://h/db'],
    ['UseDevelopmentStorage=true', 'UseDevelopmentStorage=true'],
  ])('%s', (connection, expected) => {
    expect(withoutSecrets(connection)).toBe(expected);
  });

  it.each([humanPrinter, jsonPrinter])('has no key at the start of dev: %o', (printer) => {
    const written: string[] = [];
    const out = (text: string): void => void written.push(text);
    const cluster: Pick<Cluster, 'storage' | 'azuritePid' | 'instances'> = {
      storage: 'AccountName=acme;AccountKey=c2VjcmV0',
      azuritePid: undefined,
      instances: () => [],
    };
    printer({ out, err: out, color: false }).ready(cluster, {
      app: '/app',
      container: 'c',
      data: undefined,
      now: 0,
      jobs: [],
    });
    expect(written.join('')).toContain('acme');
    expect(written.join('')).not.toContain('c2VjcmV0');
  });
});
