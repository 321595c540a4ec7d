// The report of a sweep: heat maps, lines and distributions of one metric, the table of its cells, and the chosen cell.
// On the page of several sweeps these are laid over each other: lines in one picture, maps of their differences.

import { CellTable } from "./cell-table";
import { showCell } from "./cell-view";
import { Cells, type SweepMeta } from "./cells";
import { pictures, placesOf, readChoice, withAxis, writeChoice, type Choice, type Picture } from "./choice";
import { colourScale } from "./colour-scale";
import { formatValue } from "./format";
import { heatMap, type MapCell } from "./heat-map";
import { extremes, intervalLines, MOST_LINES } from "./interval-lines";
import { Panel } from "./panel";
import { decodeBase64, readPanel } from "./payload";
import { quantities, type Quantity } from "./quantity";
import { TimeRange } from "./range";
import { bindKeys, bindTheme, Head } from "./run-page";

/** More pictures than this are not examined. */
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

  /** The place of what is compared, among what is laid over each other. */
  private get compared(): number {
    const overlaid = this.cells.meta.axes[this.cells.meta.overlaid];
    return overlaid === undefined ? 0 : this.choice.fixed[overlaid.dimension]!;
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
    const { axes, baselines, overlaid } = this.cells.meta;
    const bind = (id: string, change: (value: string) => Choice) => {
      const list = $<HTMLSelectElement>(id);
      list.addEventListener("change", () => this.set(change(list.value)));
    };
    const fill = (id: string, options: readonly (readonly [string, string])[]) =>
      $<HTMLSelectElement>(id).replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    fill("quantity", this.quantities.map((q) => [q.name, q.label]));
    fill("baseline", baselines.map((b, i) => [String(i), b]));
    $("with-baseline").hidden = baselines.length < 2;
    const named = axes.map((a, i) => [String(i), a.name] as const).filter((_, i) => i !== overlaid);
    fill("across", named.length > 0 ? named : [["-1", "nothing"]]);
    fill("down", [["-1", "nothing"], ...named]);
    fill("each", [["-1", "all"], ...named]);
    $("with-each").hidden = this.cells.sizes.length < (overlaid < 0 ? 3 : 4);
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
      const overlaid = axes[this.cells.meta.overlaid]?.dimension === d;
      if (overlaid && size < 3) return;
      const label = document.createElement("label");
      const list = document.createElement("select");
      for (let i = overlaid ? 1 : 0; i < size; i++) list.append(new Option(members.map((a) => a.labels[i]).join(", "), String(i)));
      list.value = String(choice.fixed[d]);
      list.addEventListener("change", () => this.set({ ...this.choice, fixed: this.choice.fixed.map((v, k) => (k === d ? Number(list.value) : v)) }));
      label.append(overlaid ? "compared " : `${members.map((a) => a.name).join(", ")} `, list);
      host.append(label);
    });
  }

  private draw(): void {
    this.restore();
    $("cell").hidden = true;
    this.maps();
    this.lines();
    this.distribution();
    this.table.show(this.choice.metric, this.choice.baseline, this.compared);
  }

  /** The pictures of a choice, for each value of some axes. */
  private pictures(choice: Choice, along: readonly number[]): Picture[] {
    return pictures(choice, this.cells.meta, along);
  }

  private mapCell(row: number, quantity: Quantity): MapCell {
    const { cells, choice } = this;
    const v = (name: string) => cells.get(name, row);
    const value = v(quantity.name);
    const [low, high] = [quantity.low, quantity.high].map((name) => (name === null ? NaN : v(name)));
    const interval = Number.isNaN(low) || Number.isNaN(high) ? "" : ` (${formatValue(low!)} to ${formatValue(high!)})`;
    const failed = v("failed");
    const locked = v("phase_locked") === 1;
    const lacks = cells.lacks(row, quantity);
    const notes = [
      cells.describe(row),
      `${cells.meta.metrics[choice.metric]!.name}, ${quantity.label}: ${formatValue(value)}${interval}`,
      ...(lacks === "" ? [`${v("runs")} runs${failed > 0 ? `, ${failed} failed` : ""}`] : [lacks]),
      ...(locked ? ["phase-locked: when flows start decides at least half of the variance"] : []),
    ];
    const significant = quantity.name === "difference" && v("p_corrected") < 1 - cells.meta.confidence;
    return { value, failed: failed > 0, locked, significant, lacks, title: notes.join("\n"), open: () => this.open(row) };
  }

  /** A group of maps for each number that is shown: of what is laid over each other, the difference before its parts. */
  private maps(): void {
    const { choice, quantity } = this;
    const { axes, overlaid } = this.cells.meta;
    const host = $("maps");
    host.replaceChildren();
    if (overlaid < 0) {
      this.mapGroup(host, quantity, this.pictures(choice, [choice.each]));
      return;
    }
    const names = axes[overlaid]!.labels;
    const difference = this.quantities.find((q) => q.name === "difference");
    const compared = quantity.compared ? quantity : difference;
    if (compared !== undefined) {
      const title = compared.around ? `${names[this.compared]} against ${names[0]}` : names[this.compared]!;
      const each = this.pictures(choice, [choice.each]);
      this.mapGroup(host, compared, each.map((p) => ({ ...p, caption: [title, p.caption].filter((part) => part !== "").join(", ") })));
    }
    if (!quantity.compared) this.mapGroup(host, quantity, this.pictures(choice, [choice.each, overlaid]));
  }

  private mapGroup(host: HTMLElement, quantity: Quantity, all: readonly Picture[]): void {
    const { cells } = this;
    const { axes, metrics } = cells.meta;
    const { metric, baseline } = this.choice;
    const cut = leftOut(all);
    all = all.slice(0, MOST_PICTURES);
    const [across, down] = [axes[this.choice.across] ?? null, axes[this.choice.down] ?? null];
    const room = host.clientWidth;
    const columns = Math.max(1, Math.min(all.length, Math.floor(room / MAP_WIDTH)));
    const width = Math.min(900, (room - 20 * (columns - 1)) / columns);
    const rowAt = (x: number, y: number, { choice }: Picture) => cells.at(placesOf(choice, axes, x, y), metric, baseline);
    const shown = all.flatMap((picture) =>
      (across?.labels ?? [""]).flatMap((_, x) => (down?.labels ?? [""]).map((_, y) => rowAt(x, y, picture)).filter((row) => row !== undefined)),
    );
    // One scale for all pictures, so that they can be compared.
    const scale = colourScale(shown.map((row) => cells.get(quantity.name, row)), quantity.around);
    const maps = document.createElement("div");
    maps.className = "maps";
    maps.style.setProperty("grid-template-columns", `repeat(${columns}, minmax(0, ${width}px))`);
    for (const picture of all) {
      const figure = document.createElement("figure");
      if (picture.caption !== "") {
        const caption = document.createElement("figcaption");
        caption.textContent = picture.caption;
        figure.append(caption);
      }
      const at = (x: number, y: number) => {
        const row = rowAt(x, y, picture);
        return row === undefined ? undefined : this.mapCell(row, quantity);
      };
      figure.append(heatMap(across, down, at, scale, width));
      maps.append(figure);
    }
    const legend = document.createElement("div");
    legend.className = "scale";
    const marks = this.marks(shown, quantity);
    marks.append(cut);
    legend.append(scale.legend(`${metrics[metric]!.name}, ${quantity.label}`), marks);
    host.append(maps, legend);
  }

  /** What the marks in the maps say, where there are such. */
  private marks(rows: readonly number[], quantity: Quantity): HTMLElement {
    const { cells } = this;
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
    const { axes, overlaid } = cells.meta;
    const host = $("lines");
    host.replaceChildren();
    this.panels.splice(0, this.panels.length, ...this.distributions.values());
    const across = axes[choice.across];
    const numeric = axes.filter((a) => a.numbers !== null && a.labels.length > 1);
    $("lines-section").hidden = numeric.length === 0;
    const drawable = across !== undefined && across.numbers !== null && across.labels.length > 1;
    const sentence = this.quantity.low === null ? "" : cells.meta.binned ? " Around each is the range of its cells." : ` Around each is its ${100 * cells.meta.confidence} % interval.`;
    // What is laid over each other are the lines of a picture; then there is a picture for each value of the others.
    const all = overlaid < 0 ? this.pictures(choice, [choice.each]) : this.pictures({ ...choice, down: overlaid }, [choice.down, choice.each]);
    const cut = overlaid < 0 && (axes[choice.down]?.labels.length ?? 0) > MOST_LINES ? ` The first ${MOST_LINES} values of ${axes[choice.down]!.name} have a line.` : "";
    $("lines-note").textContent = drawable
      ? `${cells.meta.metrics[choice.metric]!.name}, ${this.quantity.label}, over ${across.name}.${sentence}${cut} ${leftOut(all)}`
      : `Lines need an axis of numbers across: ${numeric.map((a) => a.name).join(", ")}.`;
    if (!drawable) return;
    const made = all.slice(0, MOST_PICTURES).map((picture) => intervalLines(cells, picture, this.quantity)!);
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

/** Says that there are more pictures than are shown. */
function leftOut(all: readonly Picture[]): string {
  return all.length > MOST_PICTURES ? `The first ${MOST_PICTURES} of ${all.length} pictures are shown.` : "";
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
