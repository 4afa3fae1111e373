/** A stretch of time, drawn from left to right. */
export interface Scale {
  readonly from: number;
  readonly until: number;
  readonly width: number;
}

export function positionOf({ from, until, width }: Scale, at: number): number {
  return ((at - from) / (until - from)) * width;
}

export function instantAt({ from, until, width }: Scale, x: number): number {
  return from + (x / width) * (until - from);
}
