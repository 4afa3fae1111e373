import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decode, withPalette } from '../../scripts/palette-png.mjs';

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG of one row for each filter, whose bytes are given as they are stored. */
function png(width: number, rows: readonly (readonly number[])[], type = 2): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, type], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(Buffer.from(rows.flat()));
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

describe('a screenshot with a palette', () => {
  it('is read with each filter of PNG', () => {
    const { rows } = decode(
      png(2, [
        [0, 10, 20, 30, 40, 50, 60],
        [1, 10, 20, 30, 1, 1, 1],
        [2, 1, 1, 1, 1, 1, 1],
        [3, 1, 1, 1, 1, 1, 1],
        [4, 1, 1, 1, 1, 1, 1],
      ]),
    );
    expect([...rows]).toEqual([
      ...[10, 20, 30, 40, 50, 60],
      ...[10, 20, 30, 11, 21, 31],
      ...[11, 21, 31, 12, 22, 32],
      ...[6, 11, 16, 10, 17, 25],
      ...[7, 12, 17, 11, 18, 26],
    ]);
  });

  it('keeps every colour where there are few, without the alpha', () => {
    const made = withPalette(png(2, [[0, 1, 2, 3, 255, 9, 8, 7, 255]], 6));
    expect(made.readUInt8(25)).toBe(3);
    const at = (type: string): number => made.indexOf(type) + 4;
    expect([...made.subarray(at('PLTE'), at('PLTE') + 6)]).toEqual([1, 2, 3, 9, 8, 7]);
    const length = made.readUInt32BE(made.indexOf('IDAT') - 4);
    expect([...inflateSync(made.subarray(at('IDAT'), at('IDAT') + length))]).toEqual([0, 0, 1]);
  });

  it('has at most 256 colours, each near its own', () => {
    const row = Array.from({ length: 300 }, (_, index) => [index % 256, (index * 7) % 256, (index * 13) % 256]).flat();
    const made = withPalette(png(300, [[0, ...row]]));
    expect(made.readUInt32BE(made.indexOf('PLTE') - 4)).toBeLessThanOrEqual(256 * 3);
  });

  it('is refused in a form that browsers do not write', () => {
    expect(() => decode(png(1, [[0, 0]], 3))).toThrow('this form of PNG is not read');
  });

  it('keeps the pictures of the documentation small', () => {
    const folder = path.join(__dirname, '../../docs/how-to/dashboard');
    const sizes = readdirSync(folder).map((name) => statSync(path.join(folder, name)).size);
    expect(sizes.length).toBeGreaterThan(30);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_500_000);
    const pages = ['how-to', 'evidence'].map((kind) =>
      readFileSync(path.join(__dirname, `../../docs/${kind}/dashboard.md`), 'utf8'),
    );
    expect(readdirSync(folder).filter((name) => !pages.join('').includes(`dashboard/${name}`))).toEqual([]);
  });
});
