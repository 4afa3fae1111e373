/** Student's t at 95 %, one-sided, by degrees of freedom from 1. */
const T = [6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753];
const T_OF_MANY = 1.753;

/** The mean of paired differences, and the upper bound that it stays under with 95 % confidence. */
export function boundOf(values: readonly number[]): { readonly mean: number; readonly upper: number } {
  const count = values.length;
  if (count < 2) throw new Error('a confidence bound needs at least two pairs');
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const t = T[count - 2] ?? T_OF_MANY;
  return { mean, upper: mean + t * Math.sqrt(variance / count) };
}
