// The numbers of a cell that can be shown, and how: with which interval, and whether around zero.

import type { Cells } from "./cells";

export interface Quantity {
  readonly name: string;
  readonly label: string;
  /** The columns of its interval. */
  readonly low: string | null;
  readonly high: string | null;
  /** Whether zero is in the middle of its colours. */
  readonly around: boolean;
  /** Whether it is of a comparison, so that a baseline has none of its own. */
  readonly compared: boolean;
}

const ALL: readonly Quantity[] = [
  { name: "mean", label: "mean", low: "mean_low", high: "mean_high", around: false, compared: false },
  { name: "median", label: "median", low: "median_low", high: "median_high", around: false, compared: false },
  { name: "difference", label: "difference from the baseline", low: "difference_low", high: "difference_high", around: true, compared: true },
  { name: "effect", label: "effect (Hedges' g)", low: null, high: null, around: true, compared: true },
  { name: "dominance", label: "dominance (Cliff's delta)", low: null, high: null, around: true, compared: true },
  { name: "p_corrected", label: "corrected p of the difference", low: null, high: null, around: false, compared: true },
  { name: "std", label: "standard deviation", low: null, high: null, around: false, compared: false },
  { name: "min", label: "least", low: null, high: null, around: false, compared: false },
  { name: "max", label: "greatest", low: null, high: null, around: false, compared: false },
  { name: "offset_share", label: "share of variance by start offsets", low: null, high: null, around: false, compared: false },
  { name: "failed", label: "failed runs", low: null, high: null, around: false, compared: false },
];

/** Those that the cells have; a bin's mean has no interval, but extremes. */
export function quantities(cells: Cells): Quantity[] {
  const extremes: Record<string, [string, string]> = { mean: ["min", "max"], difference: ["difference_min", "difference_max"] };
  return ALL.filter((q) => cells.has(q.name)).map((q) => {
    if (!cells.meta.binned) return q;
    const [low, high] = extremes[q.name] ?? [null, null];
    return { ...q, low, high };
  });
}
