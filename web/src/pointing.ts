// The sample that the mouse points at.

import { toRow, type ValueScale } from "./decimate";
import type { Series } from "./payload";

/** The mouse: its abscissa and row, the abscissas per pixel, the scale of the values, and how far it reaches in pixels. */
export interface Mouse {
  readonly t: number;
  readonly top: number;
  readonly perPixel: number;
  readonly value: ValueScale;
  readonly reach: number;
}

/** The sample nearest to the mouse, in the plane. `among` limits the samples of a series that are considered. */
export function nearestSample(
  series: readonly Series[],
  { t, top, perPixel, value, reach }: Mouse,
  among: (s: Series) => [number, number],
  flagged: boolean,
): { readonly s: Series; readonly i: number } | null {
  let best: { s: Series; i: number } | null = null;
  let distance = reach * reach;
  for (const s of series) {
    const [from, to] = among(s);
    for (let i = from; i < to; i++) {
      if (!flagged && s.flag !== null && s.flag[i] === 1) continue;
      const dx = (s.t[i]! - t) / perPixel;
      const dy = toRow(s.v[i]!, value) - top;
      const d = dx * dx + dy * dy;
      if (d < distance) {
        distance = d;
        best = { s, i };
      }
    }
  }
  return best;
}
