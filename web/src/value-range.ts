// The range of a value axis: what the visible samples need, with room around them.

import { logRange } from "./axis";
import type { Series } from "./payload";
import { extent } from "./search";

export interface Room {
  readonly log: boolean;
  readonly zeroBased: boolean;
  /** Height of the plot, and of the rows of ticks at its top, in CSS pixels. */
  readonly height: number;
  readonly band: number;
  /** What it has to hold besides the samples. */
  readonly within?: readonly [number, number];
}

/** The range that the samples of the series need; `indices` tells which samples of a series are visible. */
export function valueRange(
  series: readonly Series[],
  indices: (s: Series) => [number, number],
  { log, zeroBased, height, band, within = [Infinity, -Infinity] }: Room,
): [number, number] {
  let min = Infinity;
  let max = -Infinity;
  const above = log ? 0 : -Infinity;
  for (const s of series) {
    const [a, b] = indices(s);
    for (const column of [s.v, s.low, s.high]) {
      const e = column === null ? null : extent(column, a, b, above);
      if (e !== null) {
        min = Math.min(min, e[0]);
        max = Math.max(max, e[1]);
      }
    }
  }
  min = Math.min(min, log && within[0] <= 0 ? Infinity : within[0]);
  max = Math.max(max, within[1]);
  if (log) return min <= max ? logRange(min, max) : [1, 1000];
  if (!(min <= max) || (min === 0 && max === 0)) return [0, 1];
  if (zeroBased) min = Math.min(0, min);
  const span = max - min || Math.abs(max);
  const low = zeroBased && min === 0 ? 0 : min - 0.05 * span;
  const high = max + 0.06 * span;
  return [low, low + ((high - low) * height) / (height - band)];
}
