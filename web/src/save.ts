// A panel as a file: its picture (PNG or SVG) or the samples that it shows (CSV).

import { colour } from "./palette";
import { decodeBase64, type PanelMeta, type Series } from "./payload";

/** Room above and below a chart, for its title and for its legend, in CSS pixels. */
const HEAD = 26;
const LINE = 18;
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

/** What stands around a chart in a saved picture. */
interface Frame {
  readonly title: string;
  readonly below: string;
  readonly entries: readonly (readonly [string, string])[];
}

function frameOf(section: HTMLElement, series: readonly Series[]): Frame {
  const words = (selector: string) => section.querySelector(selector)?.textContent?.trim() ?? "";
  const title = `${section.getAttribute("aria-label") ?? ""} ${words(".unit")}`.trim();
  return { title, below: words(".x-label"), entries: series.map((s) => [s.meta.label, s.meta.colour]) };
}

/** Entries of the legend in lines of a width, with the place of each. */
function layOut(frame: Frame, width: number, measure: (text: string) => number): { x: number; y: number; label: string; colour: string }[] {
  const out = [];
  let [x, y] = [10, 0];
  for (const [label, ink] of frame.entries) {
    const wide = 30 + measure(label);
    if (x + wide > width && x > 10) [x, y] = [10, y + LINE];
    out.push({ x, y, label, colour: ink });
    x += wide;
  }
  return out;
}

/** The chart with its title and legend, as a canvas of the same resolution. */
function picture(section: HTMLElement, chart: HTMLCanvasElement, series: readonly Series[], ratio: number): HTMLCanvasElement {
  const frame = frameOf(section, series);
  const [width, height] = [chart.width / ratio, chart.height / ratio];
  const out = document.createElement("canvas");
  const ctx = out.getContext("2d")!;
  ctx.font = FONT;
  const entries = layOut(frame, width, (text) => ctx.measureText(text).width);
  const legend = (entries.at(-1)?.y ?? -LINE) + LINE;
  out.width = chart.width;
  out.height = Math.round((HEAD + height + LINE + legend + 8) * ratio);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = colour("page");
  ctx.fillRect(0, 0, width, out.height / ratio);
  ctx.drawImage(chart, 0, HEAD, width, height);
  ctx.fillStyle = colour("ink");
  ctx.font = `bold ${FONT}`;
  ctx.fillText(frame.title, 10, 17);
  ctx.font = FONT;
  ctx.textAlign = "center";
  ctx.fillText(frame.below, width / 2, HEAD + height + 12);
  ctx.textAlign = "left";
  for (const { x, y, label, colour: ink } of entries) {
    const top = HEAD + height + LINE + y;
    ctx.fillStyle = colour(ink);
    ctx.fillRect(x, top + 7, 16, 3);
    ctx.fillStyle = colour("ink");
    ctx.fillText(label, x + 21, top + 12);
  }
  return out;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The same as SVG: the drawing of the chart (a group of elements) with text as text. */
export function svgOf(frame: Frame, drawing: string, width: number, height: number): string {
  // Without a canvas the width of a letter is estimated, a little too large.
  const entries = layOut(frame, width, (text) => 7 * text.length);
  const legend = (entries.at(-1)?.y ?? -LINE) + LINE;
  const full = HEAD + height + LINE + legend + 8;
  const text = (x: number, y: number, content: string, more = "") => `<text x="${x}" y="${y}"${more}>${escaped(content)}</text>`;
  const keys = entries.map(({ x, y, label, colour: ink }) => {
    const top = HEAD + height + LINE + y;
    return `<rect x="${x}" y="${top + 7}" width="16" height="3" fill="${colour(ink)}"/>${text(x + 21, top + 12, label)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${full}" viewBox="0 0 ${width} ${full}" font-family="sans-serif" font-size="12" fill="${colour("ink")}">`,
    `<rect width="${width}" height="${full}" fill="${colour("page")}"/>`,
    text(10, 17, frame.title, ' font-weight="bold"'),
    `<g transform="translate(0 ${HEAD})">${drawing}</g>`,
    text(width / 2, HEAD + height + 12, frame.below, ' text-anchor="middle"'),
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
      const svg = svgOf(frameOf(section, series), panel.drawing(), canvas.width / ratio, canvas.height / ratio);
      return new Blob([svg], { type: "image/svg+xml" });
    }
    const image = picture(section, canvas, series, ratio).toDataURL("image/png");
    return new Blob([decodeBase64(image.slice(image.indexOf(",") + 1))], { type: "image/png" });
  };
  const link = document.createElement("a");
  link.download = `${meta.id}.${format}`;
  link.href = URL.createObjectURL(blob());
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
