// A panel as a file: its picture (PNG or SVG) or the samples that it shows (CSV).

import { addMarker, colour, isOpen, markerPath } from "./palette";
import { decodeBase64, type MarkerShape, type PanelMeta, type Series } from "./payload";

/** Room above, below and left of a chart, for its title, its legend and what its values are, in CSS pixels. */
const HEAD = 26;
const LINE = 18;
const SIDE = 18;

/** The length of a line in the legend, and the radius of the marker on it: a dash must be seen as one. */
const SWATCH = 34;
const RADIUS = 3.6;
const FONT = "12px system-ui, sans-serif";

export type Format = "png" | "svg" | "csv";

function quoted(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The samples as rows: whose, where, and their value with its range, if it has one; units are in the heads. */
export function csvOf(meta: PanelMeta, series: readonly Series[], from: number, to: number): string {
  const unit = (name: string, of: string) => (of === "" ? name : `${name} (${of})`);
  const ranged = series.some((s) => s.low !== null);
  const ends = series.some((s) => s.meta.interval === true) ? ["low", "high"] : ["least", "greatest"];
  const head = ["series", unit(meta.x.label, meta.x.unit), unit(meta.quantity ?? meta.title, meta.unit), ...(ranged ? ends : [])];
  const lines = [head.map(quoted).join(",")];
  for (const s of series) {
    for (let i = 0; i < s.t.length; i++) {
      const at = s.t[i]!;
      if (Number.isNaN(s.v[i]!) || (meta.kind !== "path" && (at < from || at > to))) continue;
      // Values have 32 bits: more digits would be those of the conversion.
      const short = (v: number | undefined) => (v === undefined || Number.isNaN(v) ? "" : String(Number(v.toPrecision(7))));
      const cells = [quoted(s.meta.label), String(Number((meta.x.log ? 10 ** at : at).toPrecision(12))), short(s.v[i])];
      if (ranged) cells.push(short(s.low?.[i]), short(s.high?.[i]));
      lines.push(cells.join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A series in the legend. Without colour it is known by its marker and, if it is a line, by its dashes. */
interface Entry {
  readonly label: string;
  readonly colour: string;
  readonly marker: MarkerShape;
  readonly dash: readonly number[] | null;
}

/** What is around a chart in a saved picture. */
export interface Frame {
  readonly title: string;
  /** What the values are, with their unit. */
  readonly beside: string;
  readonly below: string;
  readonly entries: readonly Entry[];
}

function frameOf(section: HTMLElement, meta: PanelMeta, series: readonly Series[]): Frame {
  const words = (selector: string) => section.querySelector(selector)?.textContent?.trim() ?? "";
  const unit = words(".unit") || (meta.unit === "" ? "" : `(${meta.unit})`);
  return {
    title: `${section.getAttribute("aria-label") ?? ""} ${words(".unit")}`.trim(),
    beside: `${meta.quantity ?? meta.title} ${unit}`.trim(),
    below: words(".x-label"),
    entries: series.map(({ meta: { label, colour: ink, marker, dash } }) => ({
      label,
      colour: ink,
      marker,
      dash: meta.kind === "points" ? null : dash,
    })),
  };
}

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly entry: Entry;
}

/** Entries of the legend in lines of a width, with the place of each. */
function layOut(frame: Frame, width: number, measure: (text: string) => number): Placed[] {
  const out: Placed[] = [];
  let [x, y] = [10, 0];
  for (const entry of frame.entries) {
    const wide = SWATCH + 16 + measure(entry.label);
    if (x + wide > width && x > 10) [x, y] = [10, y + LINE];
    out.push({ x, y, entry });
    x += wide;
  }
  return out;
}

/** The chart with its title and legend, as a canvas of the same resolution. */
function picture(frame: Frame, chart: HTMLCanvasElement, ratio: number): HTMLCanvasElement {
  const [width, height] = [chart.width / ratio + SIDE, chart.height / ratio];
  const out = document.createElement("canvas");
  const ctx = out.getContext("2d")!;
  ctx.font = FONT;
  const entries = layOut(frame, width, (text) => ctx.measureText(text).width);
  const legend = (entries.at(-1)?.y ?? -LINE) + LINE;
  out.width = Math.round(width * ratio);
  out.height = Math.round((HEAD + height + LINE + legend + 8) * ratio);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = colour("page");
  ctx.fillRect(0, 0, width, out.height / ratio);
  ctx.drawImage(chart, SIDE, HEAD, width - SIDE, height);
  ctx.fillStyle = colour("ink");
  ctx.font = `bold ${FONT}`;
  ctx.fillText(frame.title, 10, 17);
  ctx.font = FONT;
  ctx.textAlign = "center";
  ctx.fillText(frame.below, width / 2, HEAD + height + 12);
  ctx.save();
  ctx.translate(14, HEAD + height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.fillText(frame.beside, 0, 0);
  ctx.restore();
  ctx.textAlign = "left";
  for (const { x, y, entry } of entries) {
    const top = HEAD + height + LINE + y;
    drawSwatch(ctx, entry, x, top + 8);
    ctx.fillStyle = colour("ink");
    ctx.fillText(entry.label, x + SWATCH + 5, top + 12);
  }
  return out;
}

/** A piece of the line with its marker. */
function drawSwatch(ctx: CanvasRenderingContext2D, { colour: ink, marker, dash }: Entry, x: number, y: number): void {
  ctx.strokeStyle = ctx.fillStyle = colour(ink);
  if (dash !== null) {
    ctx.lineWidth = 1.6;
    ctx.setLineDash([...dash]);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + SWATCH, y);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  const path = new Path2D();
  addMarker(path, marker, x + SWATCH / 2, y, RADIUS);
  ctx.lineWidth = 1.6;
  if (isOpen(marker)) ctx.stroke(path);
  else ctx.fill(path);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The same as SVG: the drawing of the chart (a group of elements) with text as text. */
export function svgOf(frame: Frame, drawing: string, chartWidth: number, height: number): string {
  const width = chartWidth + SIDE;
  // Without a canvas the width of a letter is estimated, a little too large.
  const entries = layOut(frame, width, (text) => 7 * text.length);
  const legend = (entries.at(-1)?.y ?? -LINE) + LINE;
  const full = HEAD + height + LINE + legend + 8;
  const text = (x: number, y: number, content: string, more = "") => `<text x="${x}" y="${y}"${more}>${escaped(content)}</text>`;
  const keys = entries.map(({ x, y, entry: { label, colour: ink, marker, dash } }) => {
    const row = HEAD + height + LINE + y + 8;
    const dashes = dash === null || dash.length === 0 ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
    const line = dash === null ? "" : `<path d="M${x} ${row}h${SWATCH}" stroke="${colour(ink)}" stroke-width="1.6" fill="none"${dashes}/>`;
    const paint = isOpen(marker) ? `fill="none" stroke="${colour(ink)}" stroke-width="1.6"` : `fill="${colour(ink)}"`;
    const mark = `<path d="${markerPath(marker, x + SWATCH / 2, row, RADIUS)}" ${paint}/>`;
    return `${line}${mark}${text(x + SWATCH + 5, row + 4, label)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${full}" viewBox="0 0 ${width} ${full}" font-family="sans-serif" font-size="12" fill="${colour("ink")}">`,
    `<rect width="${width}" height="${full}" fill="${colour("page")}"/>`,
    text(10, 17, frame.title, ' font-weight="bold"'),
    `<g transform="translate(${SIDE} ${HEAD})">${drawing}</g>`,
    text(width / 2, HEAD + height + 12, frame.below, ' text-anchor="middle"'),
    text(0, 0, frame.beside, ` text-anchor="middle" transform="translate(14 ${HEAD + height / 2}) rotate(-90)"`),
    ...keys,
    "</svg>\n",
  ].join("\n");
}

/** What a panel lends to be saved. */
export interface Savable {
  readonly meta: PanelMeta;
  readonly series: readonly Series[];
  readonly range: readonly [number, number];
  readonly canvas: HTMLCanvasElement;
  readonly ratio: number;
  /** The drawing as elements of SVG. */
  drawing(): string;
}

/** Hands a panel to the reader as a file. */
export function save(section: HTMLElement, panel: Savable, format: Format): void {
  const { canvas, ratio, series, range, meta } = panel;
  const blob = (): Blob => {
    if (format === "csv") return new Blob([csvOf(meta, series, ...range)], { type: "text/csv" });
    if (format === "svg") {
      const svg = svgOf(frameOf(section, meta, series), panel.drawing(), canvas.width / ratio, canvas.height / ratio);
      return new Blob([svg], { type: "image/svg+xml" });
    }
    const image = picture(frameOf(section, meta, series), canvas, ratio).toDataURL("image/png");
    return new Blob([decodeBase64(image.slice(image.indexOf(",") + 1))], { type: "image/png" });
  };
  const link = document.createElement("a");
  link.download = `${meta.id}.${format}`;
  link.href = URL.createObjectURL(blob());
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
