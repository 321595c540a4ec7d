// Lines with their intervals over an axis of numbers, as a panel: one line for each value of another axis.

import type { AxisMeta, Cells } from "./cells";
import { placesOf, type Picture } from "./choice";
import { flowLook } from "./looks";
import type { PanelData, PanelMeta, Series } from "./payload";
import type { Quantity } from "./quantity";
import { extent } from "./search";

/** More lines than this cannot be told apart. */
export const MOST_LINES = 24;

/** The least and the greatest number of panels, with their intervals. */
export function extremes(all: readonly PanelData[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const s of all.flatMap((data) => data.series)) {
    for (const v of [s.v, s.low, s.high]) {
      const e = v === null ? null : extent(v, 0, v.length);
      if (e !== null) [low, high] = [Math.min(low, e[0]), Math.max(high, e[1])];
    }
  }
  return [low, high];
}

/** The panel of a picture. Null where no axis has numbers. */
export function intervalLines(cells: Cells, { caption, choice }: Picture, quantity: Quantity): { meta: PanelMeta; data: PanelData } | null {
  const { axes } = cells.meta;
  const x = axes[choice.across];
  if (x === undefined || x.numbers === null) return null;
  const by = axes[choice.down] ?? null;
  const order = x.numbers.map((_, i) => i).sort((a, b) => x.numbers![a]! - x.numbers![b]!);
  const series: Series[] = [];
  for (let line = 0; line < Math.min(MOST_LINES, by?.labels.length ?? 1); line++) {
    const rows = order.map((index) => cells.at(placesOf(choice, axes, index, line), choice.metric, choice.baseline));
    series.push(lineOf(cells, quantity, x, order, rows, line, by?.labels[line] ?? cells.meta.metrics[choice.metric]!.name));
  }
  const lines = series.filter((s) => s.v.some(Number.isFinite));
  const meta: PanelMeta = {
    id: "lines",
    title: caption === "" ? quantity.label : caption,
    quantity: `${cells.meta.metrics[choice.metric]!.name}, ${quantity.label}`,
    unit: "",
    kind: "line",
    x: { label: x.name, unit: x.unit, time: false, log: x.log },
    log: false,
    flag: null,
    series: lines.map((s) => s.meta),
    thresholds: [],
    threshold: "",
    ticks: [],
    choices: [],
    averages: [],
    average: 0,
    empty: lines.length > 0 ? "" : "No cell has this number.",
    note: "",
    shown: true,
  };
  return { meta, data: { series: lines, thresholds: [], ticks: [] } };
}

function lineOf(
  cells: Cells,
  quantity: Quantity,
  x: AxisMeta,
  order: readonly number[],
  rows: readonly (number | undefined)[],
  line: number,
  label: string,
): Series {
  const column = (name: string | null) =>
    name === null || !cells.has(name) ? null : Float32Array.from(rows, (row) => (row === undefined ? NaN : cells.get(name, row)));
  const at = order.map((i) => x.numbers![i]!);
  return {
    meta: { key: `v${line}`, label, ...flowLook(line), flow: null, gap: null, step: "", marked: true, interval: true, columns: {} },
    t: Float64Array.from(at, (v) => (x.log ? Math.log10(v) : v)),
    v: column(quantity.name)!,
    flag: null,
    who: null,
    low: column(quantity.low),
    high: column(quantity.high),
  };
}
