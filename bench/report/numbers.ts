/** Whole numbers from 10 on, one digit below; `–` for what there is none of. */
export function milliseconds(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 10 ? Math.round(value).toLocaleString('en-US') : trimmed(value.toFixed(1));
}

/** An amount divided by the runs; `–` without a run. */
export function perRun(amount: number, runs: number): string {
  if (runs === 0) return '–';
  const value = amount / runs;
  return value >= 10 ? value.toFixed(0) : value.toFixed(value >= 1 ? 1 : 2);
}

export function totalCalls(calls: Readonly<Record<string, number>> | undefined): number | undefined {
  return calls === undefined ? undefined : Object.values(calls).reduce((sum, count) => sum + count, 0);
}

function trimmed(text: string): string {
  return text.replace(/\.0$/, '').replace(/^-0$/, '0');
}

/** The middle of the values, the mean of two if they are even in number; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Milliseconds as seconds; undefined is never. */
export function seconds(ms: number | undefined): string {
  return ms === undefined ? 'never' : `${(ms / 1000).toFixed(1)} s`;
}

/** A share in percent. */
export function share(value: number): string {
  const percent = value * 100;
  return `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(percent >= 1 ? 1 : 2)} %`;
}
