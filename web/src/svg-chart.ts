// A chart of uPlot as SVG: its grid and labels, and what is drawn on it.

import uPlot from "uplot";
import type { Area } from "./draw";
import { colour } from "./palette";
import { SvgContext } from "./svg";

/** What uPlot keeps of an axis after it has drawn it. */
interface DrawnAxis {
  readonly _splits: readonly number[] | null;
  readonly _values: readonly (string | null)[] | null;
}

/** The chart in CSS pixels; `draw` draws its series. */
export function drawChart(u: uPlot, draw: (ctx: CanvasRenderingContext2D, area: Area) => void): string {
  const ratio = uPlot.pxRatio;
  const area = { left: u.bbox.left / ratio, top: u.bbox.top / ratio, width: u.bbox.width / ratio, height: u.bbox.height / ratio };
  const { left, top, width, height } = area;
  const out: string[] = [];
  (u.axes as unknown as DrawnAxis[]).forEach((axis, i) => {
    (axis._splits ?? []).forEach((v, k) => {
      const label = axis._values?.[k] ?? "";
      if (label === "") return;
      const at = u.valToPos(v, i === 0 ? "x" : "y") + (i === 0 ? left : top);
      const line = i === 0 ? `M${at} ${top}v${height}` : `M${left} ${at}h${width}`;
      const attributes = i === 0 ? `x="${at}" y="${top + height + 18}" text-anchor="middle"` : `x="${left - 8}" y="${at + 4}" text-anchor="end"`;
      out.push(`<path d="${line}" stroke="${colour("grid")}" fill="none"/>`, `<text ${attributes}>${label}</text>`);
    });
  });
  const ctx = new SvgContext();
  draw(ctx as unknown as CanvasRenderingContext2D, area);
  return [...out, ctx.text].join("\n");
}
