// Ticks of logarithmic axes: labels that read well and are enough of them, whatever part is visible
// (windtunnel/figures/log_axis.py has the same rule).

import type uPlot from "uplot";
import { formatValue } from "./format";

/** Factors of a power of ten that are labelled, by how many decades the axis has at least. */
const FACTORS: readonly (readonly [number, readonly number[]])[] = [
  [3, [1]],
  [1.5, [1, 3]],
  [0.7, [1, 2, 5]],
  [0, [1, 2, 3, 4, 5, 6, 8]],
];

export interface LogTicks {
  /** All ticks, ascending, and those of them that are labelled. */
  readonly all: readonly number[];
  readonly labelled: ReadonlySet<number>;
}

function digit(v: number): number {
  return Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
}

/** A digit times a power of ten without the error of its multiplication. */
function exact(factor: number, exponent: number): number {
  return Number(`${factor}e${exponent}`);
}

/** The ticks between two positive values. */
export function logTicks(low: number, high: number): LogTicks {
  const decades = Math.log10(high / low);
  const inside: number[] = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    for (let f = 1; f <= 9; f++) {
      const v = exact(f, e);
      if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) inside.push(v);
    }
  }
  const factors = FACTORS.find(([least]) => decades >= least)![1];
  const step = Math.max(1, Math.round(decades / 6));
  let labelled = inside.filter((v) => factors.includes(digit(v)) && (decades < 3 || Math.round(Math.log10(v)) % step === 0));
  if (labelled.length < 2) labelled = roundNumbers(low, high);
  const all = [...new Set([...inside, ...labelled])].sort((a, b) => a - b);
  return { all, labelled: new Set(labelled) };
}

/** Round numbers at equal distances, for less than a decade. */
function roundNumbers(low: number, high: number): number[] {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * (1 - 1e-9))!;
  const out: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(Number((k * step).toPrecision(12)));
  return out;
}

const SUPERSCRIPT = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/** A label: a plain number from 0.001 to 999999, else a power of ten with its factor. */
export function formatLogTick(v: number): string {
  const e = Math.floor(Math.log10(v) + 1e-9);
  if (e >= -3 && e <= 5) return String(Number(v.toPrecision(12)));
  const factor = v / 10 ** e;
  const digits = [...String(Math.abs(e))].map((d) => SUPERSCRIPT[Number(d)]!).join("");
  const shown = Math.abs(factor - 1) < 1e-9 ? "" : `${formatValue(factor).replace(/\.?0+$/, "")}\u00b7`;
  return `${shown}10${e < 0 ? "\u207b" : ""}${digits}`;
}

/** The range of a log axis for values from `min` to `max`: a little more on both sides. */
export function logRange(min: number, max: number): [number, number] {
  return [min / 1.2, max * 1.2];
}

/**
 * What a logarithmic axis of uPlot needs: lines at its labels, ticks between them. Where the scale holds other numbers
 * than those that the labels say, `value` makes them of it and `position` goes back.
 */
export function logAxis(
  grid: uPlot.Axis.Grid,
  value: (v: number) => number = (v) => v,
  position: (v: number) => number = (v) => v,
): uPlot.Axis {
  const visible = (u: uPlot, i: number) => {
    const { min, max } = u.scales[i === 0 ? "x" : "y"]!;
    return logTicks(value(min!), value(max!));
  };
  const labels = (u: uPlot, splits: readonly (number | null)[], i: number) => {
    const labelled = [...visible(u, i).labelled];
    return splits.map((v) => labelled.find((one) => Math.abs(one - value(v!)) <= 1e-9 * one));
  };
  const all = (_u: uPlot, splits: number[]) => splits;
  return {
    splits: (_u, _i, min, max) => logTicks(value(min), value(max)).all.map(position),
    values: (u, splits, i) => labels(u, splits, i).map((v) => (v === undefined ? "" : formatLogTick(v))),
    filter: all,
    grid: { ...grid, filter: (u, splits, i) => labels(u, splits, i).map((v, k) => (v === undefined ? null : splits[k]!)) },
    ticks: { ...grid, size: 5, filter: all },
  };
}
