/** Room for the largest value, in steps, so that the axis does not breathe with each figure. */
export function niceTop(max: number): number {
  const least = 1_000_000;
  if (max <= least) return least;
  const power = 10 ** Math.floor(Math.log10(max));
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) {
    if (max * 1.08 <= step * power) return step * power;
  }
  return 15 * power;
}
