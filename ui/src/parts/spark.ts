/** The line of a sparkline: the newest value at the right edge, zero at the bottom, the largest at the top. */
export function sparkPath(values: readonly number[], points: number, width: number, height: number): string {
  const top = Math.max(...values, 0);
  if (values.length < 2 || top === 0) return "";
  const left = sparkPath.left(values.length, points, width);
  const step = width / (points - 1);
  // Half a stroke of room above and below.
  const y = (value: number) => height - 1 - (value / top) * (height - 2);
  return values.map((value, i) => `${i === 0 ? "M" : "L"}${round(left + i * step)} ${round(y(value))}`).join(" ");
}

/** Where a line of fewer values than fit begins. */
sparkPath.left = (length: number, points: number, width: number): number => round(width - ((length - 1) * width) / (points - 1));

const round = (n: number): number => Math.round(n * 10) / 10;
