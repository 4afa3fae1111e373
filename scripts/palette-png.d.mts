/** A PNG of 8 bits a channel as one with a palette of 256 colours. */
export function withPalette(png: Buffer): Buffer;

/** The pixels of a PNG. Throws on a form that browsers do not write. */
export function decode(png: Buffer): {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly rows: Buffer;
};
