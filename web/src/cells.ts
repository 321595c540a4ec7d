// The cells of a sweep, as columns: one row for each metric of each cell (and each baseline). Of very many cells a row is
// that of neighbours together.

import { column, type ColumnRef, type PanelMeta } from "./payload";

export interface AxisMeta {
  readonly name: string;
  readonly labels: readonly string[];
  /** The numbers of its values; null where they are names. */
  readonly numbers: readonly number[] | null;
  readonly unit: string;
  readonly log: boolean;
  /** Axes of a zip have one dimension together: a cell has the same place on all of them. */
  readonly dimension: number;
}

export interface SweepMeta {
  readonly axes: readonly AxisMeta[];
  readonly metrics: readonly { readonly name: string; readonly text: string }[];
  readonly baselines: readonly string[];
  /** The axis whose values are laid over each other, the first being what the others are compared with; -1 for none. */
  readonly overlaid: number;
  readonly confidence: number;
  readonly binned: boolean;
  readonly rows: number;
  readonly columns: Readonly<Record<string, ColumnRef>>;
  readonly distributions: readonly PanelMeta[];
  /** What writes the page of a run, but for the folder of this page and the run's address; empty for a campaign that was made in Python. */
  readonly command: string;
  readonly folder: string;
  /** Addresses of the runs whose pages are there. */
  readonly written: readonly string[];
  /** Addresses and messages of runs that failed, or (false) only lack a metric. */
  readonly errors: readonly (readonly [string, string, boolean])[];
}

/** A cell's place in each dimension. */
export type Places = readonly number[];

export class Cells {
  /** How many values each dimension has. */
  readonly sizes: readonly number[];
  private readonly columns = new Map<string, ArrayLike<number>>();
  private readonly byPlaces = new Map<number, number>();

  constructor(
    readonly meta: SweepMeta,
    buffer: ArrayBuffer,
  ) {
    for (const [name, ref] of Object.entries(meta.columns)) this.columns.set(name, column(buffer, ref));
    const count = Math.max(0, ...meta.axes.map((a) => a.dimension + 1));
    this.sizes = Array.from({ length: count }, (_, d) => meta.axes.find((a) => a.dimension === d)!.labels.length);
    for (let row = 0; row < meta.rows; row++) {
      this.byPlaces.set(this.key(this.places(row), this.get("metric", row), this.get("baseline", row)), row);
    }
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  /** A number of a row; NaN where it has none. */
  get(name: string, row: number): number {
    return this.columns.get(name)?.[row] ?? NaN;
  }

  places(row: number): Places {
    return this.sizes.map((_, d) => this.get(`axis${this.meta.axes.findIndex((a) => a.dimension === d)}`, row));
  }

  /** The row of a cell; undefined where there is no such cell. */
  at(places: Places, metric: number, baseline: number): number | undefined {
    return this.byPlaces.get(this.key(places, metric, baseline));
  }

  /** The rows of a metric, in the order of the plan. */
  of(metric: number, baseline: number): number[] {
    const out: number[] = [];
    for (let row = 0; row < this.meta.rows; row++) {
      if (this.get("metric", row) === metric && this.get("baseline", row) === baseline) out.push(row);
    }
    return out;
  }

  /** The label of a row on each axis. */
  labels(row: number): string[] {
    return this.meta.axes.map((axis, i) => axis.labels[this.get(`axis${i}`, row)]!);
  }

  /** The cell in words, but for what is laid over each other. */
  describe(row: number): string {
    const labels = this.labels(row);
    const named = this.meta.axes.map((axis, i) => `${axis.name} = ${labels[i]}`);
    return named.filter((_, i) => i !== this.meta.overlaid).join(", ");
  }

  /** The same cell of what the others are compared with. */
  baselineOf(row: number): number | undefined {
    return this.overlaidAt(row, 0);
  }

  /** The same cell with another value of the axis that is laid over. */
  overlaidAt(row: number, index: number): number | undefined {
    const dimension = this.meta.axes[this.meta.overlaid]!.dimension;
    const places = this.places(row).map((p, d) => (d === dimension ? index : p));
    return this.at(places, this.get("metric", row), this.get("baseline", row));
  }

  /** Why a cell has no number: which of those that are laid over each other lack it. Empty where none does. */
  lacks(row: number, { compared }: { readonly compared: boolean }): string {
    const axis = this.meta.axes[this.meta.overlaid];
    if (axis === undefined) return "";
    const [own, base] = [axis.labels[this.get(`axis${this.meta.overlaid}`, row)]!, axis.labels[0]!];
    const there = (at: number | undefined) => at !== undefined && this.get("runs", at) > 0;
    if (!compared) return there(row) ? "" : `not in ${own}`;
    if (!there(row)) return there(this.baselineOf(row)) ? `only in ${base}` : `not in ${own}`;
    if (!there(this.baselineOf(row))) return `only in ${own}`;
    return this.get("pairs", row) > 0 ? "" : "no pairs of runs";
  }

  private key(places: Places, metric: number, baseline: number): number {
    const cell = places.reduce((sum, index, d) => sum * this.sizes[d]! + index, 0);
    return (cell * this.meta.metrics.length + metric) * Math.max(1, this.meta.baselines.length) + baseline;
  }
}
