// Fewer points, the same picture. Lines use M4 (U. Jugel et al., "M4: A Visualization-Oriented Time Series
// Data Aggregation", VLDB 2014): of all samples in a pixel column the first, last, least and greatest are enough
// to set the same pixels as all of them. Scattered points need another rule, because least and greatest would
// hide what is between: every occupied pixel is kept, once. Neither can lose a single event. If samples are means
// over the time since the one before, and there are many of them per pixel, M4 would fill the plot: such lines show
// the mean over each cell of pixels, and with it the least and the greatest sample.

/** Maps a value axis to pixels, downwards: `min` at `height`, `max` at 0. */
export interface ValueScale {
  readonly min: number;
  readonly max: number;
  readonly height: number;
  readonly log: boolean;
}

/** Maps time to pixels: `from` at 0, `from + width / perSecond` at `width`. */
export interface TimeScale {
  readonly from: number;
  readonly perSecond: number;
  readonly width: number;
}

/** Pixel row of a value; NaN for NaN, and for a value that a log axis cannot show. */
export function toRow(y: number, s: ValueScale): number {
  if (s.log) {
    return y > 0 ? (s.height * Math.log(s.max / y)) / Math.log(s.max / s.min) : NaN;
  }
  return (s.height * (s.max - y)) / (s.max - s.min);
}

/**
 * M4 over `[from, to)`: indices to connect, ascending; -1 lifts the pen (at NaN, and where samples are more than `gap`
 * seconds apart).
 */
export function decimateLine(
  t: Float64Array,
  v: Float32Array,
  from: number,
  to: number,
  time: TimeScale,
  gap: number | null,
): number[] {
  const limit = gap ?? Infinity;
  const out: number[] = [];
  let column = NaN;
  let first = -1;
  let last = -1;
  let low = -1;
  let high = -1;
  const flush = () => {
    if (first < 0) return;
    out.push(first);
    const a = Math.min(low, high);
    const b = Math.max(low, high);
    if (a > first && a < last) out.push(a);
    if (b > first && b < last && b !== a) out.push(b);
    if (last > first) out.push(last);
    first = -1;
  };
  for (let i = from; i < to; i++) {
    const y = v[i]!;
    const missing = Number.isNaN(y);
    if (missing || (i > from && t[i]! - t[i - 1]! > limit)) {
      flush();
      column = NaN;
      if (out.length > 0 && out[out.length - 1] !== -1) out.push(-1);
      if (missing) continue;
    }
    // Samples before and after the visible range (one each) share the columns -1 and width.
    const c = Math.max(-1, Math.min(time.width, Math.floor((t[i]! - time.from) * time.perSecond)));
    if (c !== column) {
      flush();
      column = c;
      first = low = high = i;
    } else {
      if (y < v[low]!) low = i;
      if (y > v[high]!) high = i;
    }
    last = i;
  }
  flush();
  return out;
}

/** The parts of a line of means in each cell; NaN where nothing is known. */
export interface CellMeans {
  readonly mean: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/**
 * Means over cells of `cell` pixels of samples that are each the mean since the sample before; the first one counts from
 * 0 s.
 */
export function cellMeans(
  t: Float64Array,
  v: Float32Array,
  from: number,
  to: number,
  time: TimeScale,
  cell: number,
): CellMeans {
  // The last cell includes the rest: a mean over a part of a cell would cover too little time.
  const cells = Math.max(1, Math.floor(time.width / cell));
  const mean = new Float64Array(cells);
  const low = new Float64Array(cells).fill(NaN);
  const high = new Float64Array(cells).fill(NaN);
  const covered = new Float64Array(cells);
  const position = (at: number) => ((at - time.from) * time.perSecond) / cell;
  for (let i = from; i < to; i++) {
    const y = v[i]!;
    if (Number.isNaN(y)) continue;
    const end = position(t[i]!);
    const start = position(i > 0 ? t[i - 1]! : 0);
    const last = Math.min(cells - 1, Math.floor(end));
    for (let c = Math.min(last, Math.max(0, Math.floor(start))); c <= last; c++) {
      const right = c === cells - 1 ? time.width / cell : c + 1;
      const share = Math.max(Math.min(end, right) - Math.max(start, c), 1e-9);
      mean[c]! += y * share;
      covered[c]! += share;
      if (!(y >= low[c]!)) low[c] = y;
      if (!(y <= high[c]!)) high[c] = y;
    }
  }
  for (let c = 0; c < cells; c++) mean[c]! /= covered[c]!;
  return { mean, low, high };
}

/** The points of a series that a pass draws: all, those without the flag, those with it. */
export type Wanted = "all" | "plain" | "flagged";

export interface Raster {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

/** Sets a `size` x `size` dot at every wanted point of `[from, to)`. */
export function rasterPoints(
  raster: Raster,
  t: Float64Array,
  v: Float32Array,
  flag: Uint8Array | null,
  wanted: Wanted,
  from: number,
  to: number,
  time: TimeScale,
  value: ValueScale,
  colour: number,
  size: number,
): void {
  const { pixels, width, height } = raster;
  const skip = wanted === "flagged" ? 0 : 1;
  const filter = wanted === "all" ? null : flag;
  const half = (size - 1) >> 1;
  const right = width - size;
  const bottom = height - size;
  const perUnit = value.height / (value.max - value.min);
  for (let i = from; i < to; i++) {
    if (filter !== null && filter[i] === skip) continue;
    const y = value.log ? toRow(v[i]!, value) : (value.max - v[i]!) * perUnit;
    if (!(y >= -1 && y <= value.height + 1)) continue;
    let x0 = Math.floor((t[i]! - time.from) * time.perSecond) - half;
    let y0 = Math.floor(y) - half;
    x0 = x0 < 0 ? 0 : x0 > right ? right : x0;
    y0 = y0 < 0 ? 0 : y0 > bottom ? bottom : y0;
    let p = y0 * width + x0;
    for (let j = 0; j < size; j++, p += width) {
      for (let k = 0; k < size; k++) pixels[p + k] = colour;
    }
  }
}

/** Indices of wanted points of `[from, to)`, at most one per `cell` x `cell` pixels; `cell` 0 keeps all. */
export function thinMarkers(
  t: Float64Array,
  v: Float32Array,
  flag: Uint8Array | null,
  wanted: Wanted,
  from: number,
  to: number,
  time: TimeScale,
  value: ValueScale,
  cell: number,
): number[] {
  const skip = wanted === "flagged" ? 0 : 1;
  const filter = wanted === "all" ? null : flag;
  const columns = cell > 0 ? Math.ceil(time.width / cell) + 1 : 0;
  const taken = cell > 0 ? new Uint8Array(columns * (Math.ceil(value.height / cell) + 1)) : null;
  const out: number[] = [];
  for (let i = from; i < to; i++) {
    if (filter !== null && filter[i] === skip) continue;
    const y = toRow(v[i]!, value);
    if (!(y >= -1 && y <= value.height + 1)) continue;
    if (taken !== null) {
      const x = (t[i]! - time.from) * time.perSecond;
      const at = Math.floor(Math.max(0, y) / cell) * columns + Math.floor(Math.max(0, x) / cell);
      if (taken[at] === 1) continue;
      taken[at] = 1;
    }
    out.push(i);
  }
  return out;
}

/** The number of points of `[from, to)` with the flag. */
export function countFlagged(flag: Uint8Array, from: number, to: number): number {
  let n = 0;
  for (let i = from; i < to; i++) n += flag[i]!;
  return n;
}
