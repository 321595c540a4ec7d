// Draws the series of one panel onto its canvas. Few points become markers, many become single dots written into
// an image (a million filled paths would take seconds), lines are decimated; all of this happens per draw, for the
// visible range only.

import { cellMeans, countFlagged, decimateLine, rasterPoints, thinMarkers, toRow } from "./decimate";
import type { Raster, TimeScale, ValueScale, Wanted } from "./decimate";
import type { Part } from "./legend";
import { addMarker, colour, isOpen, THRESHOLD_DASH, toPixel } from "./palette";
import type { MarkerShape, PanelData, PanelMeta, Series } from "./payload";
import { indexRange } from "./search";
import { newPath } from "./svg";
import { drawTicks } from "./ticks";

/** Up to this many points of a series are drawn as markers, more as dots. */
const MARKERS = 1500;

/** More lines than this cannot be told apart, so that dashes and markers would only cost time. */
export const TELLABLE = 24;

/** Bands of more series than this would only cover each other. */
const BANDS = 4;

/** Cells over which a line of means is averaged, if there is more than one sample to a cell, in CSS pixels. */
const CELL = 3;

/** Panels of windows, which are averaged where they could not be told apart. */
const WINDOWS: readonly string[] = ["cwnd", "in_flight"];

/** Up to this many are drawn large. */
const FEW = 20;

/** Distance of the markers that tell dense lines apart without colour, in CSS pixels. */
const LINE_MARKER_STEP = 90;

export interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface View {
  readonly ctx: CanvasRenderingContext2D;
  readonly area: Area;
  readonly from: number;
  readonly to: number;
  readonly value: ValueScale;
  /** Canvas pixels per CSS pixel. */
  readonly ratio: number;
}

interface Style {
  readonly colour: string;
  readonly marker: MarkerShape;
}

/** Draws all of `data` (the series that are switched on, in order), and `parts` of it. */
export function drawPanel(view: View, panel: PanelMeta, data: PanelData, parts: ReadonlySet<Part>): void {
  const { ctx, area } = view;
  const { series, thresholds, ticks } = data;
  const flagged = parts.has("flag");
  // A marker on the edge is drawn whole; lines, which go on beyond it, end there.
  const margin = panel.kind === "line" ? 0 : 5 * view.ratio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left - margin, area.top - margin, area.width + 2 * margin, area.height + 2 * margin);
  ctx.clip();
  ctx.translate(area.left, area.top);
  drawChanges(view, panel);
  if (panel.kind === "line") {
    for (const s of series) {
      if (s.meta.interval === true) drawIntervals(view, s, series.length > BANDS);
      else if (series.length <= BANDS) drawBand(view, s);
    }
    // Under the lines: where most samples have the flag, it must not hide whose they are.
    if (flagged && panel.flag !== null) {
      for (const s of series) {
        if (s.meta.marked) drawOverlay(view, s, { colour: panel.flag.colour ?? s.meta.colour, marker: panel.flag.marker });
      }
    }
    if (parts.has("thresholds")) for (const s of thresholds) drawThreshold(view, s);
    // Lines are compared with each other: average all of them or none.
    const dense = series.some((s) => isDense(view, s));
    // So are windows that go up and down so often that the last one drawn would hide the others.
    const hidden = WINDOWS.includes(panel.id) && series.length > 1 && series.some((s) => turnsTooOften(view, s));
    series.forEach((s, i) => {
      if (dense && s.meta.step === "mean") drawMeans(view, s, i, series.length);
      else if (hidden && s.low === null) drawMeans(view, held(s), i, series.length);
      else drawLine(view, s, i, series.length);
    });
    const wanted = { retransmits: parts.has("retransmits"), rtos: parts.has("rtos") };
    drawTicks(ctx, ticks, wanted, timeScale(view), view.to, view.ratio);
  } else if (panel.kind === "path") {
    for (const s of series) drawPath(view, s);
  } else {
    drawPoints(view, panel, series, flagged);
  }
  ctx.restore();
}

/** A dotted line from top to bottom wherever something changed. */
function drawChanges(view: View, panel: PanelMeta): void {
  const { ctx, area, ratio } = view;
  const changes = (panel.changes ?? []).filter(([t]) => t >= view.from && t <= view.to);
  if (changes.length === 0) return;
  const time = timeScale(view);
  ctx.strokeStyle = colour("slate");
  ctx.lineWidth = ratio;
  ctx.setLineDash([ratio, 3 * ratio]);
  ctx.beginPath();
  for (const [t] of changes) {
    const x = (t - time.from) * time.perSecond;
    ctx.moveTo(x, 0);
    ctx.lineTo(x, area.height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function timeScale(view: View): TimeScale {
  const width = Math.max(1, Math.round(view.area.width));
  return { from: view.from, perSecond: width / (view.to - view.from), width };
}

/** The visible range and one sample to each side, so that lines run to the edges. */
function lineRange(view: View, s: Series): [number, number] {
  const [from, to] = indexRange(s.t, view.from, view.to);
  return [Math.max(0, from - 1), Math.min(s.t.length, to + 1)];
}

/** The range of each sample, over the time that the sample stands for. */
function drawBand(view: View, s: Series): void {
  if (s.low === null || s.high === null) return;
  const time = timeScale(view);
  const [from, to] = lineRange(view, s);
  const { ctx } = view;
  const x = (i: number) => (s.t[i]! - time.from) * time.perSecond;
  ctx.fillStyle = colour(s.meta.colour);
  ctx.globalAlpha = 0.22;
  ctx.beginPath();
  for (let i = from; i < to; i++) {
    const a = toRow(s.low[i]!, view.value);
    const b = toRow(s.high[i]!, view.value);
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    const [left, right] =
      s.meta.step === "mean" ? [i > 0 ? x(i - 1) : 0, x(i)] : [x(i), i + 1 < s.t.length ? x(i + 1) : x(i) + 1];
    const gap = s.meta.gap !== null && (right - left) / time.perSecond > s.meta.gap;
    ctx.rect(left, b, gap ? 1 : Math.max(1, right - left), Math.max(1, a - b));
  }
  ctx.fill();
  ctx.globalAlpha = 1;
}

/** The interval at each sample: a band from sample to sample or, where those of many lines would cover each other, bars. */
function drawIntervals(view: View, s: Series, bars: boolean): void {
  const { low, high } = s;
  if (low === null || high === null) return;
  const { ctx, ratio, value } = view;
  const time = timeScale(view);
  const [from, to] = lineRange(view, s);
  const x = (i: number) => (s.t[i]! - time.from) * time.perSecond;
  const hasInterval = (i: number) => Number.isFinite(low[i]!) && Number.isFinite(high[i]!);
  ctx.fillStyle = ctx.strokeStyle = colour(s.meta.colour);
  ctx.lineWidth = 1.4 * ratio;
  ctx.globalAlpha = bars ? 0.7 : 0.22;
  ctx.beginPath();
  for (let i = from; i < to; i++) {
    if (!hasInterval(i)) continue;
    const [a, b] = [toRow(low[i]!, value), toRow(high[i]!, value)];
    if (bars) {
      ctx.moveTo(x(i), a);
      ctx.lineTo(x(i), b);
    } else if (i + 1 < to && hasInterval(i + 1)) {
      ctx.moveTo(x(i), a);
      ctx.lineTo(x(i + 1), toRow(low[i + 1]!, value));
      ctx.lineTo(x(i + 1), toRow(high[i + 1]!, value));
      ctx.lineTo(x(i), b);
      ctx.closePath();
    } else if (i === from || !hasInterval(i - 1)) {
      ctx.rect(x(i) - 2 * ratio, b, 4 * ratio, a - b);
    }
  }
  if (bars) ctx.stroke();
  else ctx.fill();
  ctx.globalAlpha = 1;
}

/** A curve in the plane, with a dot where it starts and a square where it ends. */
function drawPath(view: View, s: Series): void {
  const { ctx, ratio, value } = view;
  const time = timeScale(view);
  const n = s.t.length;
  if (n === 0) return;
  const point = (i: number): [number, number] => [(s.t[i]! - time.from) * time.perSecond, toRow(s.v[i]!, value)];
  ctx.beginPath();
  ctx.strokeStyle = colour(s.meta.colour);
  ctx.lineWidth = ratio;
  ctx.globalAlpha = 0.6;
  for (let i = 0; i < n; i++) ctx.lineTo(...point(i));
  ctx.stroke();
  ctx.globalAlpha = 1;
  const ends = newPath(ctx);
  addMarker(ends, "circle", ...point(0), 5 * ratio);
  addMarker(ends, "square", ...point(n - 1), 5 * ratio);
  const dots = newPath(ctx);
  for (let i = 1; i < n - 1; i++) addMarker(dots, "circle", ...point(i), 1.6 * ratio);
  paint(ctx, dots, "circle", colour(s.meta.colour), ratio);
  paint(ctx, ends, "circle", colour(s.meta.colour), ratio);
}

/**
 * Connects the samples of a series, in steps if each is the mean since the one before it or holds until the next; returns
 * those connected.
 */
function strokeLine(view: View, s: Series): number[] {
  const { ctx, value } = view;
  const time = timeScale(view);
  const [from, to] = lineRange(view, s);
  const indices = decimateLine(s.t, s.v, from, to, time, s.meta.gap);
  const x = (i: number) => (s.t[i]! - time.from) * time.perSecond;
  ctx.strokeStyle = colour(s.meta.colour);
  ctx.beginPath();
  let before = -1;
  for (const i of indices) {
    if (i >= 0) {
      const y = toRow(s.v[i]!, value);
      if (before < 0) ctx.moveTo(x(i), y);
      else if (s.meta.step === "hold") ctx.lineTo(x(i), toRow(s.v[before]!, value));
      // The first mean after an unknown time has no sample before it on the line, but it has a start.
      if (s.meta.step === "mean" && i > 0) {
        if (before < 0) ctx.moveTo(x(i - 1), y);
        else ctx.lineTo(x(before), y);
      }
      ctx.lineTo(x(i), y);
    }
    before = i;
  }
  ctx.stroke();
  return indices;
}

/** Whether each sample of a line can have a marker. */
function isSparse(view: View, s: Series): boolean {
  const [from, to] = lineRange(view, s);
  return to - from <= view.area.width / (7 * view.ratio);
}

/** Whether a line of means has too many samples to show each. */
/** Whether a line turns more than twice in most cells. */
function turnsTooOften(view: View, s: Series): boolean {
  const [from, to] = lineRange(view, s);
  const most = (2 * view.area.width) / (CELL * view.ratio);
  let [turns, up] = [0, 0];
  for (let i = from + 1; i < to && turns <= most; i++) {
    const step = Math.sign(s.v[i]! - s.v[i - 1]!);
    if (step !== 0 && !Number.isNaN(step)) {
      if (step === -up) turns++;
      up = step;
    }
  }
  return turns > most;
}

const asMeans = new WeakMap<Series, Series>();

/** Values that hold until the next sample as means since the sample before; NaN across a gap. */
function held(s: Series): Series {
  let out = asMeans.get(s);
  if (out === undefined) {
    const gap = s.meta.gap ?? Infinity;
    const v = s.v.map((_, i) => (i === 0 || s.t[i]! - s.t[i - 1]! > gap ? NaN : s.v[i - 1]!));
    out = { ...s, v };
    asMeans.set(s, out);
  }
  return out;
}

function isDense(view: View, s: Series): boolean {
  const [from, to] = lineRange(view, s);
  return s.meta.step === "mean" && (to - from) * CELL * view.ratio > view.area.width;
}

/** A line of the means over cells of pixels, and pale behind it the range of the samples. */
function drawMeans(view: View, s: Series, order: number, count: number): void {
  const { ctx, ratio, value } = view;
  const time = timeScale(view);
  const cell = CELL * ratio;
  const { mean, low, high } = cellMeans(s.t, s.v, ...lineRange(view, s), time, cell);
  ctx.strokeStyle = colour(s.meta.colour);
  if (count <= BANDS + 1 && s.low === null) {
    ctx.globalAlpha = 0.2;
    ctx.lineWidth = cell;
    ctx.beginPath();
    low.forEach((y, c) => {
      if (Number.isNaN(y)) return;
      ctx.moveTo((c + 0.5) * cell, toRow(y, value));
      ctx.lineTo((c + 0.5) * cell, toRow(high[c]!, value));
    });
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  const points: [number, number][] = [];
  ctx.beginPath();
  setStroke(view, s, count);
  let down = false;
  mean.forEach((y, c) => {
    const row = toRow(y, value);
    const x = (c + 0.5) * cell;
    if (Number.isNaN(row)) {
      down = false;
      return;
    }
    if (down) ctx.lineTo(x, row);
    else ctx.moveTo(x, row);
    down = true;
    points.push([x, row]);
  });
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  if (count <= TELLABLE) drawMarkersNowAndThen(view, s, points, order, count);
}

function drawThreshold(view: View, s: Series): void {
  const { ctx, ratio } = view;
  ctx.lineWidth = ratio;
  ctx.setLineDash(THRESHOLD_DASH.map((d) => d * ratio));
  strokeLine(view, s);
  ctx.setLineDash([]);
}

function drawLine(view: View, s: Series, order: number, count: number): void {
  const { ctx, ratio, value } = view;
  const time = timeScale(view);
  const x = (i: number) => (s.t[i]! - time.from) * time.perSecond;
  setStroke(view, s, count);
  const indices = strokeLine(view, s);
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;

  // Every sample where they are far enough apart to be seen, else a marker now and then.
  const sparse = isSparse(view, s);
  if (count > TELLABLE && !sparse) return;
  const path = newPath(view.ctx);
  const dense: [number, number][] = [];
  indices.forEach((i, k) => {
    if (i < 0) return;
    const alone = (k === 0 || indices[k - 1] === -1) && (k === indices.length - 1 || indices[k + 1] === -1);
    const row = toRow(s.v[i]!, value);
    if (sparse || alone) addMarker(path, s.meta.marker, x(i), row, 2.6 * ratio);
    else dense.push([x(i), row]);
  });
  paint(ctx, path, s.meta.marker, colour(s.meta.colour), ratio);
  drawMarkersNowAndThen(view, s, dense, order, count);
}

function setStroke(view: View, s: Series, count: number): void {
  const { ctx, ratio } = view;
  ctx.strokeStyle = colour(s.meta.colour);
  // Rasterizers draw lines of one pixel several times faster than others, which a thousand flows need.
  ctx.lineWidth = count > TELLABLE ? 1 : 1.4 * ratio;
  ctx.lineJoin = count > TELLABLE ? "bevel" : "round";
  if (count <= TELLABLE) ctx.setLineDash(s.meta.dash.map((d) => d * ratio));
  // With many lines, those drawn last must not hide the others.
  ctx.globalAlpha = count > TELLABLE && s.meta.flow !== null ? 0.45 : 1;
}

/** Markers, whose shape identifies the series in print; the series take turns, so that they do not hide each other. */
function drawMarkersNowAndThen(
  view: View,
  s: Series,
  points: readonly (readonly [number, number])[],
  order: number,
  count: number,
): void {
  const step = LINE_MARKER_STEP * view.ratio;
  const path = newPath(view.ctx);
  let next = (step * (order + 0.5)) / Math.max(1, count);
  for (const [x, row] of points) {
    if (x < next) continue;
    addMarker(path, s.meta.marker, x, row, 3.6 * view.ratio);
    next += step * Math.max(1, Math.ceil((x - next + 1e-9) / step));
  }
  paint(view.ctx, path, s.meta.marker, colour(s.meta.colour), view.ratio);
}

/** Marks the flagged samples of a line. */
function drawOverlay(view: View, s: Series, style: Style): void {
  if (s.flag === null) return;
  const [from, to] = indexRange(s.t, view.from, view.to);
  const chosen = thinMarkers(s.t, s.v, s.flag, "flagged", from, to, timeScale(view), view.value, 8 * view.ratio);
  // Where samples have markers, the flag's markers are on them.
  const sparse = isSparse(view, s);
  view.ctx.globalAlpha = sparse ? 1 : 0.6;
  drawMarkers(view, s, chosen, style, sparse ? 5 : 2.4);
  view.ctx.globalAlpha = 1;
}

function drawMarkers(view: View, s: Series, indices: readonly number[], style: Style, radius: number): void {
  const time = timeScale(view);
  const path = newPath(view.ctx);
  for (const i of indices) {
    const x = (s.t[i]! - time.from) * time.perSecond;
    addMarker(path, style.marker, x, toRow(s.v[i]!, view.value), radius * view.ratio);
  }
  paint(view.ctx, path, style.marker, colour(style.colour), view.ratio);
}

function paint(ctx: CanvasRenderingContext2D, path: Path2D, shape: MarkerShape, ink: string, ratio: number): void {
  if (isOpen(shape)) {
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1.5 * ratio;
    ctx.stroke(path);
  } else {
    ctx.fillStyle = ink;
    ctx.fill(path);
  }
}

interface Pass {
  readonly s: Series;
  readonly wanted: Wanted;
  readonly style: Style;
  readonly from: number;
  readonly to: number;
  readonly n: number;
}

/** One pass per series, and one more for its flagged points, which go on top. */
function passes(view: View, panel: PanelMeta, series: readonly Series[], flagged: boolean): Pass[] {
  const plain: Pass[] = [];
  const top: Pass[] = [];
  for (const s of series) {
    const [from, to] = indexRange(s.t, view.from, view.to);
    if (s.flag === null || panel.flag === null) {
      plain.push({ s, wanted: "all", style: s.meta, from, to, n: to - from });
      continue;
    }
    const n = countFlagged(s.flag, from, to);
    const style = { colour: panel.flag.colour ?? s.meta.colour, marker: panel.flag.marker };
    plain.push({ s, wanted: "plain", style: s.meta, from, to, n: to - from - n });
    if (flagged) top.push({ s, wanted: "flagged", style, from, to, n });
  }
  return [...plain, ...top].filter((p) => p.n > 0);
}

function drawPoints(view: View, panel: PanelMeta, series: readonly Series[], flagged: boolean): void {
  const all = passes(view, panel, series, flagged);
  const dense = all.filter((p) => p.n > MARKERS);
  if (dense.length > 0) {
    drawDots(view, dense);
  }
  for (const p of all) {
    if (p.n > MARKERS) continue;
    const chosen = thinMarkers(p.s.t, p.s.v, p.s.flag, p.wanted, p.from, p.to, timeScale(view), view.value, 0);
    // The rarer, the larger: a single drop among a million marks must be found.
    drawMarkers(view, p.s, chosen, p.style, p.n > MARKERS / 4 ? 2.2 : p.n > FEW ? 3 : 4.5);
  }
}

let scratch: { canvas: HTMLCanvasElement; image: ImageData } | null = null;

/** A canvas and an image of the wanted size, kept from draw to draw: one is enough for all panels. */
function scratchImage(width: number, height: number): { canvas: HTMLCanvasElement; image: ImageData } {
  if (scratch === null || scratch.image.width !== width || scratch.image.height !== height) {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    scratch = { canvas, image: new ImageData(width, height) };
  }
  return scratch;
}

function drawDots(view: View, dense: readonly Pass[]): void {
  const time = timeScale(view);
  const { canvas, image } = scratchImage(time.width, Math.max(1, Math.round(view.area.height)));
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(0);
  const raster: Raster = { pixels, width: image.width, height: image.height };
  const size = Math.max(2, Math.round(1.6 * view.ratio));
  for (const p of dense) {
    const { t, v, flag } = p.s;
    const ink = toPixel(colour(p.style.colour));
    rasterPoints(raster, t, v, flag, p.wanted, p.from, p.to, time, view.value, ink, size);
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  view.ctx.drawImage(canvas, 0, 0);
}
