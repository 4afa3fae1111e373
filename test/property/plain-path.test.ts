import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainPath } from '../../src/core/http-request';

const BELOW = '/api/manage/';
const piece = fc.constantFrom(
  ...[
    'keyed',
    'KEYED',
    'me',
    'jobs',
    'a',
    '.',
    '..',
    '',
    '%2e',
    '%2E',
    '%252e',
    '%25252e',
    '%2f',
    '%252f',
    '%5c',
    '\\',
  ],
  ...['%', '%2', '%25', '%41', '%3A', ':', '%00', '%0a', '%c3%a9', 'é', '?', '#', '%3f', '%23', ';', ' '],
);
const hostile = fc.array(
  fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join('')),
  { maxLength: 5 },
);

const resolved = (path: string): string =>
  new URL(`http://h${path.replaceAll('?', '%3F').replaceAll('#', '%23')}`).pathname;

/** What a chain of readers makes of a whole path: each decodes, or resolves dots and empty parts, in any order. */
function readings(path: string): Set<string> {
  const seen = new Set<string>();
  const queue = [path];
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    if (seen.has(one)) continue;
    seen.add(one);
    queue.push(resolved(one), one.replaceAll('\\', '/').replaceAll(/\/{2,}/g, '/'));
    try {
      queue.push(decodeURIComponent(one));
    } catch {
      // This reader refuses it.
    }
  }
  return seen;
}

const placeOf = (path: string): string => decodeURIComponent(resolved(path));

describe('a path that is accepted', () => {
  it('is the same for every reader, in whatever order they decode and normalise', () => {
    fc.assert(
      fc.property(hostile, (parts) => {
        const path = parts.join('/');
        const plain = plainPath({ normalised: path });
        if (plain === undefined) return;
        expect(plain).toBe(path);
        const places = new Set([...readings(BELOW + path)].map(placeOf));
        expect([...places]).toEqual([placeOf(BELOW + path)]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the one that the host has matched', () => {
    fc.assert(
      fc.property(hostile, hostile, (parts, others) => {
        const [normalised, matched] = [parts.join('/'), others.join('/')];
        const plain = plainPath({ normalised, matched });
        if (plain !== undefined) expect(decodeURIComponent(plain).replace(/\/$/, '')).toBe(matched.replace(/\/$/, ''));
      }),
    );
  });

  it.each(['', 'me', 'jobs/', 'jobs/a', 'runs/a-20260101T000100Z', 'deployments/caf%C3%A9%20west', 'runs/a%3Ab'])(
    'includes %j',
    (path) => {
      expect(plainPath({ normalised: path, matched: decodeURIComponent(path) })).toBe(path);
    },
  );

  it.each([
    'keyed/%2e%2e/me',
    'keyed/../me',
    'keyed//me',
    '/me',
    'keyed%2fme',
    'keyed/%5c..',
    'keyed/%252e%252e/me',
    'a%',
  ])('is not %j', (path) => {
    expect(plainPath({ normalised: path })).toBeUndefined();
    expect(plainPath({ normalised: 'me', sent: [`/api/manage/${path}`] })).toBeUndefined();
  });
});
