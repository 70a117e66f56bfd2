/** Which rows of a long list are near enough to be drawn. */

export interface Slice {
  from: number;
  /** One past the last. */
  to: number;
}

export function visibleRows(rows: number, row_px: number, scroll_px: number, height_px: number, spare: number): Slice {
  const from = Math.max(0, Math.floor(scroll_px / row_px) - spare);
  const to = Math.min(rows, Math.ceil((scroll_px + height_px) / row_px) + spare);
  return { from: Math.min(from, to), to };
}

/** Where to scroll so that a row is in sight; where it is already, nothing moves. */
export function scrollTo(row: number, row_px: number, scroll_px: number, height_px: number): number {
  const top = row * row_px;
  if (top < scroll_px) return top;
  if (top + row_px > scroll_px + height_px) return top + row_px - height_px;
  return scroll_px;
}
