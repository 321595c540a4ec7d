// Draws the series of one panel onto its canvas. Few points become markers, many become single dots written into
// an image (a million filled paths would take seconds), lines are decimated; all of it per draw, from the
// visible range alone.

import { countFlagged, decimateLine, rasterPoints, thinMarkers, toRow } from "./decimate";
import type { Raster, TimeScale, ValueScale, Wanted } from "./decimate";
import { addMarker, colour, isOpen, toPixel } from "./palette";
import type { MarkerShape, PanelMeta, Series } from "./payload";
import { indexRange } from "./search";

/** Up to this many points of a series are drawn as markers, more as dots. */
const MARKERS = 1500;

/** More lines than this cannot be told apart, so that dashes and markers would only cost time. */
export const TELLABLE = 24;

/** Bands of more series than this would only cover each other. */
const BANDS = 4;

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

/** Draws all of `series` (those switched on, in order) and, where `flagged`, what the panel's flag adds. */
export function drawSeries(view: View, panel: PanelMeta, series: readonly Series[], flagged: boolean): void {
  const { ctx, area } = view;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.width, area.height);
  ctx.clip();
  ctx.translate(area.left, area.top);
  if (panel.kind === "line") {
    if (series.length <= BANDS) for (const s of series) drawBand(view, s);
    series.forEach((s, i) => drawLine(view, s, i, series.length));
    if (flagged && panel.flag !== null) {
      for (const s of series) drawOverlay(view, s, panel.flag);
    }
  } else {
    drawPoints(view, panel, series, flagged);
  }
  ctx.restore();
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

function drawBand(view: View, s: Series): void {
  if (s.low === null || s.high === null) return;
  const time = timeScale(view);
  const [from, to] = lineRange(view, s);
  const { ctx } = view;
  ctx.strokeStyle = colour(s.meta.colour);
  ctx.globalAlpha = 0.25;
  ctx.lineWidth = Math.max(1, ((to - from > 1 ? time.width / (to - from) : 1) | 0) + 1);
  ctx.beginPath();
  for (let i = from; i < to; i++) {
    const a = toRow(s.low[i]!, view.value);
    const b = toRow(s.high[i]!, view.value);
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    const x = (s.t[i]! - time.from) * time.perSecond;
    ctx.moveTo(x, a);
    ctx.lineTo(x, b);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function drawLine(view: View, s: Series, order: number, count: number): void {
  const { ctx, ratio, value } = view;
  const time = timeScale(view);
  const [from, to] = lineRange(view, s);
  const indices = decimateLine(s.t, s.v, from, to, time, s.meta.gap);
  const x = (i: number) => (s.t[i]! - time.from) * time.perSecond;
  const ink = colour(s.meta.colour);

  ctx.strokeStyle = ink;
  // Rasterizers draw lines of one pixel several times faster than others, which a thousand flows need.
  ctx.lineWidth = count > TELLABLE ? 1 : 1.4 * ratio;
  ctx.lineJoin = count > TELLABLE ? "bevel" : "round";
  if (count <= TELLABLE) ctx.setLineDash(s.meta.dash.map((d) => d * ratio));
  ctx.beginPath();
  let down = false;
  for (const i of indices) {
    if (i < 0) {
      down = false;
      continue;
    }
    if (down) ctx.lineTo(x(i), toRow(s.v[i]!, value));
    else ctx.moveTo(x(i), toRow(s.v[i]!, value));
    down = true;
  }
  ctx.stroke();
  ctx.setLineDash([]);

  // Every sample where they are far enough apart to be seen, else a marker now and then, so that the shape names
  // the series in print; the series take turns, so that they do not hide each other.
  const step = LINE_MARKER_STEP * ratio;
  const sparse = to - from <= time.width / (7 * ratio);
  if (count > TELLABLE && !sparse) return;
  const path = new Path2D();
  let next = (step * (order + 0.5)) / Math.max(1, count);
  indices.forEach((i, k) => {
    if (i < 0) return;
    const px = x(i);
    const alone = (k === 0 || indices[k - 1] === -1) && (k === indices.length - 1 || indices[k + 1] === -1);
    if (sparse || alone) {
      addMarker(path, s.meta.marker, px, toRow(s.v[i]!, value), 2.6 * ratio);
    } else if (px >= next) {
      addMarker(path, s.meta.marker, px, toRow(s.v[i]!, value), 3.6 * ratio);
      next += step * Math.max(1, Math.ceil((px - next + 1e-9) / step));
    }
  });
  paint(ctx, path, s.meta.marker, ink, ratio);
}

/** Marks the flagged samples of a line. */
function drawOverlay(view: View, s: Series, style: Style): void {
  if (s.flag === null) return;
  const [from, to] = indexRange(s.t, view.from, view.to);
  const chosen = thinMarkers(s.t, s.v, s.flag, "flagged", from, to, timeScale(view), view.value, 6 * view.ratio);
  drawMarkers(view, s, chosen, style, 2.6);
}

function drawMarkers(view: View, s: Series, indices: readonly number[], style: Style, radius: number): void {
  const time = timeScale(view);
  const path = new Path2D();
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
    plain.push({ s, wanted: "plain", style: s.meta, from, to, n: to - from - n });
    if (flagged) top.push({ s, wanted: "flagged", style: panel.flag, from, to, n });
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
