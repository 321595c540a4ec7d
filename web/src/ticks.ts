// Retransmissions as ticks above the lines of a panel, one row per flow: where something was sent again, and with a
// triangle where a retransmission timer expired, because readers see that as a different kind of loss.

import type { TimeScale } from "./decimate";
import { addMarker, colour } from "./palette";
import type { Ticks } from "./payload";
import { indexRange } from "./search";
import { newPath } from "./svg";

/** Height of a row, and of a tick in it, in CSS pixels. */
const ROW = 9;
const TICK = 6;

/** Radius of a triangle, and the least distance between two, in CSS pixels. */
const TRIANGLE = 3.6;
const APART = 4;

/** The ticks that are switched on. */
export interface Wanted {
  readonly retransmits: boolean;
  readonly rtos: boolean;
}

/** The height, in CSS pixels, that the rows take from the top of a plot. */
export function bandHeight(ticks: readonly Ticks[]): number {
  return ticks.length === 0 ? 0 : ROW * (1 + Math.max(...ticks.map((x) => x.meta.row))) + 4;
}

/** Indices of `[from, to)` whose count is not 0, at most one in each `cell` of pixels. */
export function thinTicks(
  t: Float64Array,
  counts: Uint16Array,
  from: number,
  to: number,
  time: TimeScale,
  cell: number,
): number[] {
  const out: number[] = [];
  let taken = NaN;
  for (let i = from; i < to; i++) {
    if (counts[i] === 0) continue;
    const at = Math.floor(((t[i]! - time.from) * time.perSecond) / cell);
    if (at === taken) continue;
    taken = at;
    out.push(i);
  }
  return out;
}

/** Draws the rows; `to` is the end of the visible time, whose scale is `time`. */
export function drawTicks(
  ctx: CanvasRenderingContext2D,
  ticks: readonly Ticks[],
  wanted: Wanted,
  time: TimeScale,
  to: number,
  ratio: number,
): void {
  for (const { meta, t, retransmits, rtos } of ticks) {
    const range = indexRange(t, time.from, to);
    const x = (i: number) => (t[i]! - time.from) * time.perSecond;
    const middle = rowMiddle(meta.row) * ratio;
    const ink = colour(meta.colour);
    if (wanted.retransmits) {
      const half = (TICK / 2) * ratio;
      ctx.strokeStyle = ink;
      ctx.lineWidth = ratio;
      ctx.beginPath();
      for (const i of thinTicks(t, retransmits, ...range, time, 1)) {
        // In the middle of a pixel, so that a tick is one pixel wide and not two pale ones.
        const px = Math.floor(x(i)) + 0.5;
        ctx.moveTo(px, middle - half);
        ctx.lineTo(px, middle + half);
      }
      ctx.stroke();
    }
    if (wanted.rtos) {
      const path = newPath(ctx);
      for (const i of thinTicks(t, rtos, ...range, time, APART * ratio)) addMarker(path, "down", x(i), middle, TRIANGLE * ratio);
      ctx.fillStyle = ink;
      ctx.fill(path);
    }
  }
}

/** The tick nearest to a place, all in CSS pixels and at most `reach` away sideways; null where there is none. */
export function nearestTick(
  ticks: readonly Ticks[],
  wanted: Wanted,
  left: number,
  top: number,
  time: TimeScale,
  reach: number,
): { readonly ticks: Ticks; readonly i: number; readonly top: number } | null {
  let best: { ticks: Ticks; i: number; top: number } | null = null;
  let distance = reach;
  for (const one of ticks) {
    const middle = rowMiddle(one.meta.row);
    if (Math.abs(top - middle) > ROW / 2) continue;
    const [from, to] = indexRange(one.t, time.from + (left - reach) / time.perSecond, time.from + (left + reach) / time.perSecond);
    for (let i = from; i < to; i++) {
      if (!((wanted.retransmits && one.retransmits[i]! > 0) || (wanted.rtos && one.rtos[i]! > 0))) continue;
      const d = Math.abs((one.t[i]! - time.from) * time.perSecond - left);
      if (d <= distance) {
        distance = d;
        best = { ticks: one, i, top: middle };
      }
    }
  }
  return best;
}

function rowMiddle(row: number): number {
  return 2 + ROW * (row + 0.5);
}
