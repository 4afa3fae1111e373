// Writes a screenshot with a palette: half the size, and no one sees the difference.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 256;
/** Colours closer than this to a more frequent one are drawn as that one, squared. */
const CLOSE = 40;

/** A PNG of 8 bits a channel, with or without alpha, as one with a palette of 256 colours. */
export function withPalette(png) {
  const { width, height, channels, rows } = decode(png);
  const counts = new Map();
  const pixels = new Uint32Array(width * height);
  for (let at = 0; at < pixels.length; at += 1) {
    const from = at * channels;
    const colour = (rows[from] << 16) | (rows[from + 1] << 8) | rows[from + 2];
    pixels[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf(counts);
  const index = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour).index]));
  const data = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) data[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  const table = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', table),
    chunk('IDAT', deflateSync(data, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The pixels of a PNG, row by row. Throws on a form that browsers do not write. */
export function decode(png) {
  const parts = [];
  let header;
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const content = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') header = content;
    if (type === 'IDAT') parts.push(content);
    at += length + 12;
  }
  const channels = { 2: 3, 6: 4 }[header[9]];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new Error('this form of PNG is not read');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  return {
    width,
    height,
    channels,
    rows: unfiltered(inflateSync(Buffer.concat(parts)), width * channels, height, channels),
  };
}

function unfiltered(data, stride, height, channels) {
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < channels ? 0 : rows[at - channels];
      const up = y === 0 ? 0 : rows[at - stride];
      const corner = x < channels || y === 0 ? 0 : rows[at - stride - channels];
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      rows[at] = (data[y * (stride + 1) + 1 + x] + guess) & 255;
    }
  }
  return rows;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The most frequent colours that differ enough. All of them, if there are few. */
function paletteOf(counts) {
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  if (byCount.length <= COLOURS) return byCount;
  const palette = [];
  for (const colour of byCount) {
    if (palette.length === COLOURS) break;
    if (palette.length === 0 || nearest(palette, colour).distance >= CLOSE) palette.push(colour);
  }
  return palette;
}

function nearest(palette, colour) {
  let best = { index: 0, distance: Infinity };
  for (const [index, other] of palette.entries()) {
    const [r, g, b] = [16, 8, 0].map((shift) => ((other >> shift) & 255) - ((colour >> shift) & 255));
    const distance = r * r + g * g + b * b;
    if (distance < best.distance) best = { index, distance };
    if (distance === 0) break;
  }
  return best;
}

function chunk(type, content) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(content.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}
