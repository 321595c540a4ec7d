// The table of the cells of one metric. Of very many rows it shows the first; sorting and searching go over all.

import type { Cells } from "./cells";
import { formatValue } from "./format";
import { compareKeys } from "./tables";

/** Rows that are shown at first, and more on each request. */
const STEP = 300;
const SVG = "http://www.w3.org/2000/svg";

interface Column {
  readonly head: string;
  readonly numeric: boolean;
  /** By what it sorts; "" is last. */
  key(row: number): string | number;
  fill(cell: HTMLTableCellElement, row: number): void;
}

export class CellTable {
  private metric = 0;
  private baseline = 0;
  /** The place of what is compared, where several are laid over each other. */
  private compared = 0;
  private shown = STEP;
  private sorted: { column: number; sign: 1 | -1 } | null = null;
  private columns: Column[] = [];
  private readonly filter = document.querySelector<HTMLInputElement>("#filter-text")!;
  private readonly count = document.querySelector<HTMLElement>("#filter-count")!;
  private readonly more = document.querySelector<HTMLButtonElement>("#more-rows")!;

  constructor(
    private readonly table: HTMLTableElement,
    private readonly cells: Cells,
    private readonly open: (row: number) => void,
  ) {
    this.filter.addEventListener("input", () => this.draw());
    this.more.addEventListener("click", () => {
      this.shown += STEP;
      this.draw();
    });
  }

  show(metric: number, baseline: number, compared: number): void {
    [this.metric, this.baseline, this.compared, this.shown] = [metric, baseline, compared, STEP];
    this.columns = this.build();
    this.heads();
    this.draw();
  }

  private build(): Column[] {
    const { cells } = this;
    const { axes, binned, overlaid } = cells.meta;
    const out: Column[] = [this.opener()];
    axes.forEach((axis, i) => {
      if (i === overlaid) return;
      const index = (row: number) => cells.get(`axis${i}`, row);
      const number = (row: number) => axis.numbers?.[index(row)] ?? axis.labels[index(row)]!;
      out.push({ head: axis.name, numeric: axis.numbers !== null, key: number, fill: (c, row) => (c.textContent = axis.labels[index(row)]!) });
    });
    if (overlaid >= 0) return [...out, ...this.sideBySide()];
    if (binned) out.push(this.number("cells", "cells"));
    out.push(this.number("runs", "runs"), this.number("failed", "failed"), this.number("count", "values"));
    const ends: [string, string, string][] = [["mean", "mean_low", "mean_high"], ["median", "median_low", "median_high"]];
    for (const [name, low, high] of ends) if (cells.has(name)) out.push(this.number(name, name), ...this.interval(name, low, high));
    out.push(this.number("min", "least"), this.number("max", "greatest"));
    if (cells.has("offset_share")) out.push(this.number("offset_share", "share of offsets"), this.locked());
    return [...out, ...this.difference()];
  }

  /** The difference from the baseline, and what is known of it. */
  private difference(): Column[] {
    const { cells } = this;
    if (!cells.has("difference")) return [];
    const [low, high] = cells.meta.binned ? ["difference_min", "difference_max"] : ["difference_low", "difference_high"];
    const out = [this.number("difference", "difference"), this.strip(low, high), ...this.interval("difference", low, high)];
    for (const [name, head] of [["p", "p"], ["p_corrected", "corrected p"], ["effect", "effect"], ["dominance", "dominance"]] as const) {
      if (cells.has(name)) out.push(this.number(name, head));
    }
    return out;
  }

  /** What is compared, next to the baseline: the numbers of both, and their difference. */
  private sideBySide(): Column[] {
    const { cells } = this;
    const names = cells.meta.axes[cells.meta.overlaid]!.labels;
    const [low, high] = cells.meta.binned ? ["min", "max"] : ["mean_low", "mean_high"];
    const base = (row: number) => cells.baselineOf(row) ?? -1;
    return [
      this.number("mean", `mean of ${names[0]}`, base),
      ...this.interval(names[0]!, low, high, base),
      this.number("mean", `mean of ${names[this.compared]}`),
      ...this.interval(names[this.compared]!, low, high),
      this.number("pairs", "pairs"),
      ...this.difference(),
    ];
  }

  /** A row for each cell. */
  private rows(): number[] {
    const { overlaid } = this.cells.meta;
    const rows = this.cells.of(this.metric, this.baseline);
    return overlaid < 0 ? rows : rows.filter((row) => this.cells.get(`axis${overlaid}`, row) === this.compared);
  }

  /** A number of a row, or of another one next to it. */
  private number(name: string, head: string, beside: (row: number) => number = (row) => row): Column {
    const value = (row: number) => this.cells.get(name, beside(row));
    return {
      head,
      numeric: true,
      key: (row) => (Number.isNaN(value(row)) ? "" : value(row)),
      fill: (cell, row) => {
        const v = value(row);
        const lacks = name === "difference" ? this.cells.lacks(row, { compared: true }) : "";
        cell.textContent = lacks !== "" ? lacks : Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v) : formatValue(v);
        if (!Number.isNaN(v)) cell.title = String(v);
      },
    };
  }

  private interval(of: string, low: string, high: string, beside: (row: number) => number = (row) => row): Column[] {
    const { cells } = this;
    if (!cells.has(low)) return [];
    return [{
      head: `${cells.meta.binned ? "range" : "interval"} of ${of}`,
      numeric: true,
      key: (row) => (Number.isNaN(cells.get(low, beside(row))) ? "" : cells.get(high, beside(row)) - cells.get(low, beside(row))),
      fill: (cell, row) => {
        const [a, b] = [cells.get(low, beside(row)), cells.get(high, beside(row))];
        cell.textContent = Number.isNaN(a) || Number.isNaN(b) ? "\u2013" : `${formatValue(a)} to ${formatValue(b)}`;
      },
    }];
  }

  private locked(): Column {
    const word = (row: number) => (this.cells.get("phase_locked", row) === 1 ? "phase-locked" : "");
    return { head: "phases", numeric: false, key: word, fill: (cell, row) => (cell.textContent = word(row)) };
  }

  private opener(): Column {
    const { cells } = this;
    return {
      head: "cell",
      numeric: true,
      key: (row) => cells.get("cell", row),
      fill: (cell, row) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "link";
        // Campaigns that are laid over each other count their cells differently.
        button.textContent = cells.meta.overlaid < 0 ? String(cells.get("cell", row)) : "open";
        // The row has the click, too; a keyboard reaches the button.
        cell.append(button);
      },
    };
  }

  /** The difference from the baseline with its interval, as a picture on one scale for all rows. */
  private strip(low: string, high: string): Column {
    const { cells } = this;
    const ends = this.rows().flatMap((row) => ["difference", low, high].map((name) => Math.abs(cells.get(name, row)))).filter(Number.isFinite);
    const most = ends.reduce((a, b) => Math.max(a, b), 0) || 1;
    const at = (v: number) => ((50 * v) / most).toFixed(1);
    return {
      head: "from the baseline",
      numeric: false,
      key: (row) => (Number.isNaN(cells.get("difference", row)) ? "" : cells.get("difference", row)),
      fill: (cell, row) => {
        const [v, a, b] = [cells.get("difference", row), cells.get(low, row), cells.get(high, row)];
        if (Number.isNaN(v)) return;
        const svg = document.createElementNS(SVG, "svg");
        for (const [key, value] of [["class", "strip wide"], ["viewBox", "-55 -7 110 14"], ["aria-hidden", "true"]]) svg.setAttribute(key!, value!);
        const draw = (name: string, attributes: Record<string, string>) => {
          const shape = document.createElementNS(SVG, name);
          for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
          svg.append(shape);
        };
        draw("path", { d: "M0 -6V6", stroke: "var(--c-soft)" });
        if (!Number.isNaN(a)) draw("path", { d: `M${at(a)} 0H${at(b)}`, stroke: "var(--c-ink)", "stroke-width": "1.5" });
        draw("circle", { cx: at(v), cy: "0", r: "3.5", fill: `var(--c-${v < 0 ? "blue" : "orange"})` });
        cell.append(svg);
      },
    };
  }

  private heads(): void {
    this.table.tHead?.remove();
    const line = this.table.createTHead().insertRow();
    this.columns.forEach((column, i) => {
      const head = document.createElement("th");
      head.scope = "col";
      if (column.numeric) head.className = "n";
      const sorted = this.sorted?.column === i ? this.sorted.sign : 0;
      if (sorted !== 0) head.setAttribute("aria-sort", sorted === 1 ? "ascending" : "descending");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = column.head;
      button.addEventListener("click", () => {
        this.sorted = { column: i, sign: sorted === 1 ? -1 : 1 };
        this.heads();
        this.draw();
      });
      head.append(button);
      line.append(head);
    });
  }

  private draw(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    let rows = this.rows();
    if (wanted !== "") rows = rows.filter((row) => this.cells.describe(row).toLowerCase().includes(wanted));
    const { sorted } = this;
    const by = sorted === null ? undefined : this.columns[sorted.column];
    if (sorted !== null && by !== undefined) {
      rows = rows.map((row) => ({ row, key: by.key(row) })).sort((a, b) => compareKeys(a.key, b.key, sorted.sign)).map(({ row }) => row);
    }
    const body = document.createElement("tbody");
    for (const row of rows.slice(0, this.shown)) {
      const line = body.insertRow();
      line.dataset["cell"] = String(this.cells.get("cell", row));
      line.addEventListener("click", () => this.open(row));
      for (const column of this.columns) {
        const cell = line.insertCell();
        if (column.numeric) cell.className = "n";
        column.fill(cell, row);
      }
    }
    this.table.tBodies[0]?.remove();
    this.table.append(body);
    this.more.hidden = rows.length <= this.shown;
    this.count.textContent = `${rows.length} ${this.cells.meta.binned ? "groups of cells" : "cells"}${this.more.hidden ? "" : `, ${this.shown} shown`}`;
  }
}
