// One panel: a uPlot chart that provides axes, cursor and selection, and our own drawing on it. uPlot gets no data
// but the time range; the series are drawn by draw.ts, because uPlot wants all series on one time axis.

import uPlot from "uplot";
import type { ValueScale } from "./decimate";
import { drawPanel, TELLABLE } from "./draw";
import { averaged } from "./average";
import { logAxis } from "./axis";
import { formatTicks, formatTime, formatValue } from "./format";
import { buildLegend, type Legend, type Part } from "./legend";
import { colour } from "./palette";
import type { PanelData, PanelMeta, Series } from "./payload";
import { nearestSample } from "./pointing";
import { TimeRange } from "./range";
import { extent, indexRange, lowerBound, nearest } from "./search";
import { bandHeight, nearestTick, type Wanted } from "./ticks";
import type { Savable } from "./save";
import { drawChart } from "./svg-chart";
import { Tooltip, type Hit } from "./tooltip";
import { valueRange } from "./value-range";
import type { PanelView } from "./view";

/** A legend value is shown for samples at most this far from the cursor, in CSS pixels. */
const REACH = 24;

/** The tooltip is for samples at most this far from the mouse, in CSS pixels. */
const POINTED = 14;

/** More thresholds than this are shown only on request. */
const THRESHOLDS = 4;

/** Room for the labels of the time axis, and above the plot, in CSS pixels. */
const BOTTOM = 34;
const TOP = 10;

/** Width of a digit in an axis label, in CSS pixels, and the room between two labels. */
const DIGIT = 7;
const BETWEEN = 28;

const CURSOR_GROUP = "windtunnel";

export class Panel {
  /** Told when the reader changes what the panel shows. */
  onChange: () => void = () => {};
  readonly shown = new Set<string>();
  /** All series that were ever offered. */
  private readonly offered = new Set<string>();
  readonly parts = new Set<Part>(["flag", "thresholds", "retransmits", "rtos"]);
  zeroBased = true;
  log: boolean;
  /** Seconds over which means are averaged; 0 shows them as they were recorded. */
  private average: number;
  /** What is drawn: the data, averaged. */
  private drawing: PanelData;
  private legend: Legend;
  private readonly tooltip: Tooltip;
  private chart: uPlot;
  /** Whether the mouse is over this panel, and not only the shared cursor. */
  private pointed = false;

  /** The visible range: that of all panels over time, or its own. */
  private range: TimeRange;

  constructor(
    private readonly host: HTMLElement,
    private meta: PanelMeta,
    private data: PanelData,
    private readonly shared: TimeRange,
    private readonly flowNames: readonly string[],
  ) {
    this.log = meta.log;
    this.average = meta.average;
    this.drawing = this.prepared();
    this.range = this.rangeOf();
    // With very many lines, flagged samples would cover everything else; thresholds do so with fewer lines.
    if (meta.kind === "line" && data.series.length > TELLABLE) this.parts.delete("flag");
    if (data.thresholds.length > THRESHOLDS) this.parts.delete("thresholds");
    this.showAll();
    this.remember();
    this.legend = this.createLegend();
    this.chart = this.create();
    this.tooltip = new Tooltip(this.chart.over);
    host.addEventListener("mouseover", () => (this.pointed = true));
    host.addEventListener("mouseleave", () => (this.pointed = false));
    new ResizeObserver(() => this.fit()).observe(host);
    shared.onChange(() => this.follow(shared));
    if (this.range !== shared) this.range.onChange(() => this.follow(this.range));
  }

  private follow(range: TimeRange): void {
    if (range === this.range) this.chart.setScale("x", { min: range.min, max: range.max });
  }

  /** The data as they are drawn. */
  private prepared(): PanelData {
    const series = this.data.series.map((s) => {
      const mean = averaged(s, this.average);
      // A time without marks has no dot.
      if (this.meta.kind !== "points" || s.meta.step !== "mean") return mean;
      return { ...mean, v: mean.v.map((y) => (y > 0 ? y : NaN)) };
    });
    return { ...this.data, series };
  }

  private rangeOf(): TimeRange {
    if (this.meta.x.time) return this.shared;
    let [low, high] = [Infinity, -Infinity];
    for (const s of this.data.series) {
      const e = extent(s.t, 0, s.t.length);
      if (e !== null) [low, high] = [Math.min(low, e[0]), Math.max(high, e[1])];
    }
    if (!(low <= high)) return new TimeRange(0, 1);
    if (!this.meta.x.log) low = Math.min(0, low);
    const room = 0.04 * (high - low || 1);
    return new TimeRange(this.meta.x.log ? low - room : low, high + room);
  }

  /** Seconds over which means are averaged; 0 if they are not. */
  get averaging(): number {
    return this.average;
  }

  /** Averages over some seconds. */
  setAverage(seconds: number): void {
    this.average = seconds;
    this.drawing = this.prepared();
    this.redraw();
  }

  /** Shows something else of the same flows or queues. */
  show(meta: PanelMeta, data: PanelData): void {
    // What was switched off stays off; what appears for the first time is on.
    for (const { meta: { key } } of data.series) if (!this.offered.has(key)) this.shown.add(key);
    const other = meta.x.label !== this.meta.x.label || meta.log !== this.meta.log || !meta.x.time;
    if (meta.log !== this.meta.log) this.log = meta.log;
    this.meta = meta;
    this.data = data;
    this.drawing = this.prepared();
    this.remember();
    this.legend = this.createLegend();
    if (other) this.rebuild();
    this.redraw();
  }

  /** The same, longer, while a run goes on. */
  grow(data: PanelData): void {
    this.data = data;
    this.drawing = this.prepared();
    this.chart.redraw(true, true);
  }

  private remember(): void {
    for (const s of this.data.series) this.offered.add(s.meta.key);
  }

  private createLegend(): Legend {
    const section = this.host.closest("section") ?? this.host;
    const legend = section.querySelector<HTMLElement>(".legend")!;
    legend.replaceChildren();
    return buildLegend(legend, section.querySelector<HTMLElement>(".time")!, this.meta, this);
  }

  /** Draws again, with new extents. */
  redraw(): void {
    this.legend.update();
    this.chart.redraw(true, true);
    this.onChange();
  }

  /** What is shown otherwise than by default; `choice` is known to the panel's head. */
  view(): PanelView {
    const off = [...this.offered].filter((key) => !this.shown.has(key));
    return {
      ...(off.length > 0 ? { off } : {}),
      ...(this.log !== this.meta.log ? { log: this.log } : {}),
      ...(this.average !== this.meta.average ? { average: this.average } : {}),
    };
  }

  /** Switches series off, by their keys. */
  hide(keys: readonly string[]): void {
    for (const key of keys) this.shown.delete(key);
    this.redraw();
  }

  /** What can be saved of the panel. */
  get savable(): Savable {
    const { min, max } = this.range;
    return {
      meta: this.meta,
      series: this.visible().series,
      range: [min, max],
      canvas: this.chart.root.querySelector("canvas")!,
      ratio: uPlot.pxRatio,
      drawing: () =>
        drawChart(this.chart, (ctx, area) => {
          const view = { ctx, area, from: min, to: max, value: this.valueScale(this.chart, area.height), ratio: 1 };
          drawPanel(view, this.meta, this.visible(), this.parts);
        }),
    };
  }

  /** Switches everything of a flow; the caller draws, once for all flows. A new chart draws by itself, a moment later. */
  setFlow(flow: number, on: boolean): void {
    for (const { meta } of this.drawn()) {
      if (meta.flow === flow) {
        if (on) this.shown.add(meta.key);
        else this.shown.delete(meta.key);
      }
    }
  }

  /** Only this series, or all again if it is alone already. */
  solo(key: string): void {
    const alone = this.shown.size === 1 && this.shown.has(key);
    this.shown.clear();
    if (alone) this.showAll();
    else this.shown.add(key);
    this.redraw();
  }

  /** uPlot fixes the kind of a scale at construction, so that a change of it needs a new chart. */
  setLog(on: boolean): void {
    this.log = on;
    this.rebuild();
    this.onChange();
  }

  private rebuild(): void {
    const range = this.rangeOf();
    if (range !== this.shared) {
      this.range = range;
      range.onChange(() => this.follow(range));
    }
    this.chart.destroy();
    this.chart = this.create();
    this.tooltip.attach(this.chart.over);
  }

  /** Moves the cursor by pixels and returns its time. */
  stepCursor(pixels: number): number {
    const width = this.chart.over.clientWidth;
    const left = this.chart.cursor.left ?? -1;
    return this.chart.posToVal(left < 0 ? width / 2 : Math.max(0, Math.min(width, left + pixels)), "x");
  }

  placeCursor(time: number): void {
    this.chart.setCursor({ left: this.chart.valToPos(time, "x"), top: this.chart.over.clientHeight / 2 });
  }

  /** The values at a time, in words. */
  describe(time: number): string {
    const left = this.chart.valToPos(time, "x");
    const values = this.valuesAt(left).map(([s, value]) => `${s.meta.label} ${value} ${this.meta.unit}`.trim());
    return `${this.timeAt(left)}: ${values.join(", ")}`;
  }

  /** Time under the keyboard or mouse cursor, or null. */
  cursorTime(): number | null {
    const left = this.chart.cursor.left ?? -1;
    return left < 0 ? null : this.chart.posToVal(left, "x");
  }

  private showAll(): void {
    for (const { meta } of this.drawn()) this.shown.add(meta.key);
  }

  /** Everything that a flow's switch controls; a flow may have ticks without a line. */
  private drawn(): { readonly meta: { readonly key: string; readonly flow: number | null } }[] {
    return [...this.data.series, ...this.data.ticks];
  }

  private visible(): PanelData {
    const on = ({ meta }: { readonly meta: { readonly key: string } }) => this.shown.has(meta.key);
    const { series, thresholds, ticks } = this.drawing;
    return { series: series.filter(on), thresholds: thresholds.filter(on), ticks: ticks.filter(on) };
  }

  /** Which ticks are switched on. */
  private wanted(): Wanted {
    return { retransmits: this.parts.has("retransmits"), rtos: this.parts.has("rtos") };
  }

  private fit(): void {
    const { width, height } = this.size();
    if (width !== this.chart.width || height !== this.chart.height) this.chart.setSize({ width, height });
  }

  private size(): { width: number; height: number } {
    const width = Math.max(200, Math.floor(this.host.clientWidth));
    return { width, height: width < 520 ? 230 : 280 };
  }

  private create(): uPlot {
    const ink = () => colour("ink");
    const grid = { stroke: () => colour("grid"), width: 1 };
    // Axes without anything on them would look like a measurement.
    const show = this.meta.empty === "";
    const axis = { show, stroke: ink, grid, ticks: { ...grid, size: 5 }, font: "12px system-ui, sans-serif" };
    const { x } = this.meta;
    const labelWidth = () => DIGIT * formatTime(this.range.max, this.range.max - this.range.min, 50).length;
    const options: uPlot.Options = {
      ...this.size(),
      legend: { show: false },
      padding: [TOP, () => Math.max(18, labelWidth() / 2 + 4), 0, 0],
      scales: {
        x: { time: false, min: this.range.min, max: this.range.max },
        y: { distr: this.log ? 3 : 1, range: () => this.valueRange(this.range.min, this.range.max) },
      },
      axes: [
        {
          ...axis,
          size: BOTTOM,
          space: () => Math.max(70, labelWidth() + BETWEEN),
          values: (_u, ticks, _axis, _space, step) => formatTicks(ticks, step),
          ...(x.log ? logAxis(grid, (v) => 10 ** v, Math.log10) : {}),
        },
        {
          ...axis,
          size: 56,
          space: 36,
          values: (_u, ticks: (number | null)[], _axis, _space, step) => formatTicks(ticks.map(Number), step),
          ...(this.log ? logAxis(grid) : {}),
        },
      ],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      cursor: {
        points: { show: false },
        drag: { x: true, y: false, dist: 4, setScale: false },
        ...(x.time
          ? {
              sync: {
                key: CURSOR_GROUP,
                scales: ["x", null] as [string, null],
                // The zoom goes through TimeRange (and from there to all charts); only the cursor is shared here.
                filters: { pub: (type: string) => type === "mousemove" || type === "mouseleave", sub: () => true },
              },
            }
          : {}),
        bind: {
          mousedown: (_u, _target, handler) => (event) => {
            if (event.shiftKey) this.startPan(event);
            else handler(event);
            return null;
          },
          dblclick: () => () => {
            this.range.reset();
            return null;
          },
        },
      },
      hooks: {
        draw: [(u) => this.draw(u)],
        setCursor: [(u) => this.hover(u)],
        setSelect: [(u) => this.zoomToSelection(u)],
      },
    };
    return new uPlot(options, [[this.range.from, this.range.to], [null, null]], this.host);
  }

  private zoomToSelection(u: uPlot): void {
    const { left, width } = u.select;
    if (width <= 0) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.range.set(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  private startPan(event: MouseEvent): void {
    event.preventDefault();
    const start = event.clientX;
    const { min, max } = this.range;
    const perPixel = (max - min) / Math.max(1, this.chart.over.clientWidth);
    const move = (e: MouseEvent) => {
      const shift = (start - e.clientX) * perPixel;
      this.range.set(min + shift, max + shift);
    };
    const end = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", end);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end);
  }

  /** Range of the value axis: what the visible samples need. */
  private valueRange(from: number, to: number): [number, number] {
    const { series, thresholds } = this.visible();
    const { log, zeroBased } = this;
    const needed = this.parts.has("thresholds") ? [...series, ...thresholds] : series;
    // The rows of ticks are above the lines, not on them; there is room for all rows, so that the axis never moves.
    const wanted = this.wanted();
    const band = wanted.retransmits || wanted.rtos ? bandHeight(this.data.ticks) : 0;
    const height = this.size().height - TOP - BOTTOM;
    const { within } = this.meta;
    return valueRange(needed, (s) => this.indices(s, from, to), { log, zeroBased, height, band, ...(within ? { within } : {}) });
  }

  /** The samples in a range; of a path all, because its abscissas are in no order. */
  private indices(s: Series, from: number, to: number): [number, number] {
    return this.meta.kind === "path" ? [0, s.t.length] : indexRange(s.t, from, to);
  }

  private valueScale(u: uPlot, height: number): ValueScale {
    const y = u.scales["y"]!;
    return { min: y.min!, max: y.max!, height, log: this.log };
  }

  private draw(u: uPlot): void {
    const { left, top, width, height } = u.bbox;
    const x = u.scales["x"]!;
    const area = { left, top, width, height };
    const value = this.valueScale(u, height);
    const view = { ctx: u.ctx, area, from: x.min!, to: x.max!, value, ratio: uPlot.pxRatio };
    drawPanel(view, this.meta, this.visible(), this.parts);
    this.host.dataset["drawn"] = "true";
  }

  /** The abscissa at a place, with its unit. */
  private timeAt(left: number): string {
    return this.abscissa(this.chart.posToVal(left, "x"), this.chart.over.clientWidth);
  }

  private abscissa(at: number, pixels: number): string {
    const { x } = this.meta;
    const text = x.time ? formatTime(at, this.range.max - this.range.min, pixels) : formatValue(x.log ? 10 ** at : at);
    return `${text} ${x.unit}`.trim();
  }

  /** The text of the sample nearest in time, for each series that is shown. */
  private valuesAt(left: number): [Series, string][] {
    const t = this.chart.posToVal(left, "x");
    return this.visible().series.map((s) => {
      // A mean is that of the time up to its sample.
      const i = s.meta.step === "mean" ? Math.min(lowerBound(s.t, t), s.t.length - 1) : nearest(s.t, t);
      const spans = s.meta.step === "mean" && this.meta.kind === "line" && i > 0 && s.t[i - 1]! <= t && t <= s.t[i]!;
      const near = i >= 0 && (spans || Math.abs(this.chart.valToPos(s.t[i]!, "x") - left) <= REACH);
      return [s, near ? formatValue(s.v[i]!) : "\u2013"];
    });
  }

  private hover(u: uPlot): void {
    const left = u.cursor.left ?? -1;
    const top = u.cursor.top ?? -1;
    // The first cursor event may come from the constructor of the chart.
    if (this.chart !== u) return;
    if (left < 0) {
      this.legend.clear();
      this.tooltip.hide();
      return;
    }
    this.legend.setValues(this.timeAt(left), this.meta.kind === "path" ? [] : this.valuesAt(left));
    const hit = this.pointed ? (this.hitTick(u, left, top) ?? this.hit(u, left, top)) : null;
    if (hit === null) this.tooltip.hide();
    else this.tooltip.show(hit);
  }

  /** The tick under the mouse. */
  private hitTick(u: uPlot, left: number, top: number): Hit | null {
    const { min, max } = this.range;
    const width = Math.max(1, u.over.clientWidth);
    const time = { from: min, perSecond: width / (max - min), width };
    const hit = nearestTick(this.visible().ticks, this.wanted(), left, top, time, POINTED);
    if (hit === null) return null;
    const { meta, t, retransmits, rtos } = hit.ticks;
    const [again, expired] = [retransmits[hit.i]!, rtos[hit.i]!];
    return {
      left: u.valToPos(t[hit.i]!, "x"),
      top: hit.top,
      label: meta.label,
      value: `${again} retransmission${again === 1 ? "" : "s"}`,
      time: this.abscissa(t[hit.i]!, 20 * width),
      note: expired > 0 ? `${expired} timeout${expired === 1 ? "" : "s"} (RTO)` : "",
    };
  }

  /** The sample nearest to the mouse, in the plane. */
  private hit(u: uPlot, left: number, top: number): Hit | null {
    const value = this.valueScale(u, u.over.clientHeight);
    const { min, max } = this.range;
    const perPixel = (max - min) / Math.max(1, u.over.clientWidth);
    const t = u.posToVal(left, "x");
    const among = (s: Series) => this.indices(s, t - POINTED * perPixel, t + POINTED * perPixel);
    const flagged = this.meta.kind !== "points" || this.parts.has("flag");
    const best = nearestSample(this.visible().series, { t, top, perPixel, value, reach: POINTED }, among, flagged);
    if (best === null) return null;
    const { s, i } = best;
    const who = s.who === null ? undefined : this.flowNames[s.who[i]!];
    const notes = [who, s.flag !== null && s.flag[i] === 1 ? this.meta.flag?.label : undefined];
    return {
      left: u.valToPos(s.t[i]!, "x"),
      top: u.valToPos(s.v[i]!, "y"),
      label: s.meta.label,
      value: `${formatValue(s.v[i]!)} ${this.meta.unit}`.trim(),
      time: this.abscissa(s.t[i]!, 20 * u.over.clientWidth),
      note: notes.filter((n) => n !== undefined).join(", "),
    };
  }
}
