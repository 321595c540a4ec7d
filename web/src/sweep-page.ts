// The report of a sweep: heat maps, lines and distributions of one metric, the table of its cells, and the chosen cell.

import { CellTable } from "./cell-table";
import { showCell } from "./cell-view";
import { Cells, type SweepMeta } from "./cells";
import { placesOf, readChoice, withAxis, writeChoice, type Choice } from "./choice";
import { colourScale } from "./colour-scale";
import { formatValue } from "./format";
import { heatMap, type MapCell } from "./heat-map";
import { extremes, intervalLines, MOST_LINES } from "./interval-lines";
import { Panel } from "./panel";
import { decodeBase64, readPanel } from "./payload";
import { quantities, type Quantity } from "./quantity";
import { TimeRange } from "./range";
import { bindKeys, bindTheme, Head } from "./run-page";

/** More pictures than this are not looked at. */
const MOST_PICTURES = 24;

/** The least width of a heat map, in CSS pixels. */
const MAP_WIDTH = 360;

const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

export function startSweepPage(): void {
  const meta = JSON.parse($("report-meta").textContent ?? "") as SweepMeta;
  const buffer = decodeBase64(($("report-data").textContent ?? "").trim());
  const cells = new Cells(meta, buffer);
  listFailures(cells);
  if (meta.metrics.length > 0) new SweepPage(cells, buffer);
}

class SweepPage {
  private choice: Choice;
  private readonly quantities: readonly Quantity[];
  private readonly table: CellTable;
  private readonly range = new TimeRange(0, 1);
  /** Panels that stay, and those of the present choice. */
  private readonly distributions = new Map<number, Panel>();
  private readonly panels: Panel[] = [];

  constructor(
    private readonly cells: Cells,
    private readonly buffer: ArrayBuffer,
  ) {
    this.choice = readChoice(location.hash, cells.meta);
    this.quantities = quantities(cells);
    this.table = new CellTable($<HTMLTableElement>("cells"), cells, (row) => this.open(row));
    this.toolbar();
    bindTheme(this.panels);
    this.draw();
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      this.maps();
    });
    document.body.dataset["ready"] = "true";
  }

  private get quantity(): Quantity {
    return this.quantities.find((q) => q.name === this.choice.quantity) ?? this.quantities[0]!;
  }

  private open(row: number): void {
    showCell($("cell"), this.cells, row);
  }

  private set(choice: Choice): void {
    this.choice = choice;
    // A page that is embedded may not change its address.
    try {
      history.replaceState(null, "", `#${writeChoice(choice)}`);
    } catch {}
    this.draw();
  }

  private toolbar(): void {
    const { axes, baselines } = this.cells.meta;
    const bind = (id: string, change: (value: string) => Choice) => {
      const list = $<HTMLSelectElement>(id);
      list.addEventListener("change", () => this.set(change(list.value)));
    };
    const fill = (id: string, options: readonly (readonly [string, string])[]) =>
      $<HTMLSelectElement>(id).replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    fill("quantity", this.quantities.map((q) => [q.name, q.label]));
    fill("baseline", baselines.map((b, i) => [String(i), b]));
    $("with-baseline").hidden = baselines.length < 2;
    const named = axes.map((a, i) => [String(i), a.name] as const);
    fill("across", named.length > 0 ? named : [["-1", "nothing"]]);
    fill("down", [["-1", "nothing"], ...named]);
    fill("each", [["-1", "all"], ...named]);
    $("with-each").hidden = this.cells.sizes.length < 3;
    bind("metric", (v) => ({ ...this.choice, metric: Number(v) }));
    bind("quantity", (v) => ({ ...this.choice, quantity: v }));
    bind("baseline", (v) => ({ ...this.choice, baseline: Number(v) }));
    for (const role of ["across", "down", "each"] as const) bind(role, (v) => withAxis(this.choice, role, Number(v), axes));
  }

  /** The lists as the choice has them, and one for each dimension that no picture shows. */
  private restore(): void {
    const { axes, metrics } = this.cells.meta;
    const { choice } = this;
    for (const key of ["metric", "baseline", "across", "down", "each"] as const) $<HTMLSelectElement>(key).value = String(choice[key]);
    $<HTMLSelectElement>("quantity").value = this.quantity.name;
    $("expression").textContent = `${metrics[choice.metric]!.name} = ${metrics[choice.metric]!.text}`;
    const used = [choice.across, choice.down, choice.each].filter((i) => i >= 0).map((i) => axes[i]!.dimension);
    const host = $("fixed");
    host.replaceChildren();
    this.cells.sizes.forEach((size, d) => {
      if (used.includes(d) || size < 2) return;
      const members = axes.filter((a) => a.dimension === d);
      const label = document.createElement("label");
      const list = document.createElement("select");
      for (let i = 0; i < size; i++) list.append(new Option(members.map((a) => a.labels[i]).join(", "), String(i)));
      list.value = String(choice.fixed[d]);
      list.addEventListener("change", () => this.set({ ...this.choice, fixed: this.choice.fixed.map((v, k) => (k === d ? Number(list.value) : v)) }));
      label.append(`${members.map((a) => a.name).join(", ")} `, list);
      host.append(label);
    });
  }

  private draw(): void {
    this.restore();
    $("cell").hidden = true;
    this.maps();
    this.lines();
    this.distribution();
    this.table.show(this.choice.metric, this.choice.baseline);
  }

  /** The values that have a picture each; one that is -1 where there is one picture. */
  private pictures(): number[] {
    const axis = this.cells.meta.axes[this.choice.each];
    return axis === undefined ? [-1] : axis.labels.slice(0, MOST_PICTURES).map((_, i) => i);
  }

  private mapCell(row: number): MapCell {
    const { cells, quantity, choice } = this;
    const v = (name: string) => cells.get(name, row);
    const value = v(quantity.name);
    const [low, high] = [quantity.low, quantity.high].map((name) => (name === null ? NaN : v(name)));
    const interval = Number.isNaN(low) || Number.isNaN(high) ? "" : ` (${formatValue(low!)} to ${formatValue(high!)})`;
    const failed = v("failed");
    const locked = v("phase_locked") === 1;
    const notes = [
      cells.describe(row),
      `${cells.meta.metrics[choice.metric]!.name}, ${quantity.label}: ${formatValue(value)}${interval}`,
      `${v("runs")} runs${failed > 0 ? `, ${failed} failed` : ""}`,
      ...(locked ? ["phase-locked: when flows start decides at least half of the variance"] : []),
    ];
    const significant = quantity.name === "difference" && v("p_corrected") < 1 - cells.meta.confidence;
    return { value, failed: failed > 0, locked, significant, title: notes.join("\n"), open: () => this.open(row) };
  }

  private maps(): void {
    const { cells, choice, quantity } = this;
    const { axes } = cells.meta;
    const host = $("maps");
    const pictures = this.pictures();
    const [across, down] = [axes[choice.across] ?? null, axes[choice.down] ?? null];
    const room = host.clientWidth;
    const columns = Math.max(1, Math.min(pictures.length, Math.floor(room / MAP_WIDTH)));
    const width = Math.min(900, (room - 20 * (columns - 1)) / columns);
    host.style.setProperty("grid-template-columns", `repeat(${columns}, minmax(0, ${width}px))`);
    const rowAt = (x: number, y: number, each: number) => cells.at(placesOf(choice, axes, x, y, each), choice.metric, choice.baseline);
    const shown = pictures.flatMap((each) =>
      (across?.labels ?? [""]).flatMap((_, x) => (down?.labels ?? [""]).map((_, y) => rowAt(x, y, each)).filter((row) => row !== undefined)),
    );
    // One scale for all pictures, so that they can be compared.
    const scale = colourScale(shown.map((row) => cells.get(quantity.name, row)), quantity.around);
    host.replaceChildren(
      ...pictures.map((each) => {
        const figure = document.createElement("figure");
        if (each >= 0) {
          const caption = document.createElement("figcaption");
          caption.textContent = `${axes[choice.each]!.name} = ${axes[choice.each]!.labels[each]}`;
          figure.append(caption);
        }
        const at = (x: number, y: number) => {
          const row = rowAt(x, y, each);
          return row === undefined ? undefined : this.mapCell(row);
        };
        figure.append(heatMap(across, down, at, scale, width));
        return figure;
      }),
    );
    $("scale").replaceChildren(scale.legend(`${cells.meta.metrics[choice.metric]!.name}, ${quantity.label}`), this.marks(shown));
  }

  /** What the marks in the maps say, where there are such. */
  private marks(rows: readonly number[]): HTMLElement {
    const { cells, quantity } = this;
    const out = document.createElement("p");
    out.className = "help";
    const notes = ["A click on a cell opens it"];
    if (quantity.name === "difference" && cells.has("p_corrected")) notes.push(`Bold: corrected p below ${formatValue(1 - cells.meta.confidence).replace(/0+$/, "")}`);
    if (rows.some((row) => cells.get("phase_locked", row) === 1)) notes.push("Right corner marked: phase-locked, when flows start decides at least half of the variance");
    if (rows.some((row) => cells.get("failed", row) > 0)) notes.push("Left corner marked: runs failed");
    out.textContent = notes.map((note) => `${note}. `).join("");
    return out;
  }

  private lines(): void {
    const { cells, choice } = this;
    const { axes } = cells.meta;
    const host = $("lines");
    host.replaceChildren();
    this.panels.splice(0, this.panels.length, ...this.distributions.values());
    const across = axes[choice.across];
    const numeric = axes.filter((a) => a.numbers !== null && a.labels.length > 1);
    $("lines-section").hidden = numeric.length === 0;
    const drawable = across !== undefined && across.numbers !== null && across.labels.length > 1;
    const sentence = this.quantity.low === null ? "" : cells.meta.binned ? " Around each is the range of its cells." : ` Around each is its ${100 * cells.meta.confidence} % interval.`;
    const cut = (axes[choice.down]?.labels.length ?? 0) > MOST_LINES ? ` The first ${MOST_LINES} values of ${axes[choice.down]!.name} have a line.` : "";
    $("lines-note").textContent = drawable
      ? `${cells.meta.metrics[choice.metric]!.name}, ${this.quantity.label}, over ${across.name}.${sentence}${cut}`
      : `Lines need an axis of numbers across: ${numeric.map((a) => a.name).join(", ")}.`;
    if (!drawable) return;
    const made = this.pictures().map((each) => intervalLines(cells, choice, this.quantity, each)!);
    const within = extremes(made.map(({ data }) => data));
    for (const { meta: alone, data } of made) {
      const meta = { ...alone, within };
      const section = $<HTMLTemplateElement>("panel-template").content.firstElementChild!.cloneNode(true) as HTMLElement;
      section.setAttribute("aria-label", meta.title);
      section.querySelector("h3")!.firstChild!.textContent = `${meta.title} `;
      section.querySelector(".x-label")!.textContent = meta.x.unit === "" ? meta.x.label : `${meta.x.label} (${meta.x.unit})`;
      const chart = section.querySelector<HTMLElement>(".chart")!;
      chart.setAttribute("aria-label", `${meta.title}; arrow keys read values`);
      section.querySelector<HTMLInputElement>("input[data-log]")!.checked = false;
      host.append(section);
      const panel = new Panel(chart, meta, data, this.range, []);
      bindKeys(chart, panel, [panel], this.range);
      new Head(section, meta, panel, this.buffer, () => {});
      this.panels.push(panel);
    }
  }

  private distribution(): void {
    const { metric } = this.choice;
    this.cells.meta.distributions.forEach((meta, i) => {
      const section = document.querySelector<HTMLElement>(`[data-panel="${meta.id}"]`)!;
      section.hidden = i !== metric;
      if (i !== metric || meta.empty !== "" || this.distributions.has(i)) return;
      const chart = section.querySelector<HTMLElement>(".chart")!;
      const panel = new Panel(chart, meta, readPanel(this.buffer, meta), this.range, []);
      bindKeys(chart, panel, [panel], this.range);
      new Head(section, meta, panel, this.buffer, () => {});
      this.distributions.set(i, panel);
      this.panels.push(panel);
    });
  }
}

function listFailures(cells: Cells): void {
  const { errors } = cells.meta;
  const section = $("failures");
  if (errors.length === 0) return;
  section.hidden = false;
  const byCell = new Map<number, number>();
  for (let row = cells.meta.rows - 1; row >= 0; row--) byCell.set(cells.get("cell", row), row);
  const body = section.querySelector("tbody")!;
  for (const [address, message] of errors) {
    const row = byCell.get(Number(address.split(".")[0]));
    const line = body.insertRow();
    for (const text of [address, row === undefined ? "" : cells.describe(row), message]) line.insertCell().textContent = text;
  }
}
