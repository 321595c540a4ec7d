// Columns that grow while a run goes on, and the series that panels draw of them.

import type { PanelData, PanelMeta, Series, SeriesMeta } from "../src/payload";
import type { NewRows, Progress } from "./protocol";

/** Numbers of one kind that get more: room is doubled when it is used up. */
class Growing<A extends Float64Array | Float32Array | Uint8Array> {
  length = 0;

  constructor(private room: A, private readonly make: (length: number) => A) {}

  push(value: number): void {
    if (this.length === this.room.length) {
      const more = this.make(2 * this.room.length);
      more.set(this.room);
      this.room = more;
    }
    this.room[this.length++] = value;
  }

  get values(): A {
    return this.room.subarray(0, this.length) as A;
  }
}

const ROOM = 1024;
const doubles = () => new Growing<Float64Array>(new Float64Array(ROOM), (n) => new Float64Array(n));
const floats = () => new Growing<Float32Array>(new Float32Array(ROOM), (n) => new Float32Array(n));
const bytes = () => new Growing<Uint8Array>(new Uint8Array(ROOM), (n) => new Uint8Array(n));

/** How lines come from a table (python/windtunnel/lab/live.py). */
export interface Lines {
  readonly table: string;
  /** The column with the number of the flow or queue; of a class, that is next to the queue's. */
  readonly of: "flow" | "queue" | "class";
  readonly y: string;
  readonly factor: number;
  readonly low?: string;
  readonly high?: string;
  readonly flag?: string;
  readonly step: SeriesMeta["step"];
  /** The values are counts of intervals, and what is drawn is their number per second. */
  readonly counted: boolean;
  /** Where a table's lines are of several kinds: the kind's name, and its look. */
  readonly kind?: string;
  readonly look?: Look;
  readonly threshold: boolean;
}

export interface Look {
  readonly colour: string;
  readonly marker: SeriesMeta["marker"];
  readonly dash: readonly number[];
}

export interface LivePanel {
  readonly meta: PanelMeta;
  readonly lines: readonly Lines[];
}

/** What flows, queues and their classes are called. */
export interface Names {
  readonly flow: readonly string[];
  readonly queue: readonly string[];
  readonly class: readonly (readonly string[])[];
}

/** More classes than any queue has that is recorded by class. */
const CLASSES = 100;

export interface Looks {
  readonly flows: readonly Look[];
  readonly queues: readonly Look[];
}

/** The samples of one flow or queue. */
class Line {
  private readonly t = doubles();
  private readonly v = floats();
  private readonly flag: Growing<Uint8Array> | null;
  private readonly low: Growing<Float32Array> | null;
  private readonly high: Growing<Float32Array> | null;
  /** The end of the last interval with a mark. */
  private before = 0;
  hasValues = false;

  constructor(
    readonly number: number,
    readonly meta: SeriesMeta,
    readonly lines: Lines,
  ) {
    this.flag = lines.flag === undefined ? null : bytes();
    this.low = lines.low === undefined ? null : floats();
    this.high = lines.high === undefined ? null : floats();
  }

  push(rows: NewRows, i: number): void {
    const { factor, counted, y, flag, low, high } = this.lines;
    const at = (name: string) => rows.columns[name]?.[i] ?? NaN;
    const time = at("time_s");
    let value = factor * at(y);
    if (counted) {
      const length = time - this.before;
      // A time without marks has no dot.
      value = value > 0 && length > 0 ? value / length : NaN;
    }
    // As in a run's page: since the mark before.
    if (!counted || value > 0) this.before = time;
    this.t.push(time);
    this.v.push(Number.isFinite(value) ? value : NaN);
    this.hasValues ||= Number.isFinite(value);
    this.flag?.push(at(flag!) > 0 ? 1 : 0);
    this.low?.push(factor * at(low!));
    this.high?.push(factor * at(high!));
  }

  get series(): Series {
    return {
      meta: this.meta,
      t: this.t.values,
      v: this.v.values,
      flag: this.flag?.values ?? null,
      who: null,
      low: this.low?.values ?? null,
      high: this.high?.values ?? null,
    };
  }
}

/** The lines of one panel, which get longer. */
export class Live {
  private readonly kept = new Map<string, Line>();

  constructor(
    readonly panel: LivePanel,
    private readonly looks: Looks,
    private readonly names: Names,
  ) {}

  add({ tables }: Progress): void {
    for (const lines of this.panel.lines) {
      const rows = tables[lines.table];
      const numbers = rows?.columns[lines.of];
      if (rows === undefined || numbers === undefined || rows.columns[lines.y] === undefined) continue;
      const queues = rows.columns["queue"];
      for (let i = 0; i < rows.rows; i++) {
        const number = lines.of === "class" ? CLASSES * queues![i]! + numbers[i]! : numbers[i]!;
        this.line(lines, number).push(rows, i);
      }
    }
  }

  private line(lines: Lines, number: number): Line {
    const key = `${lines.kind ?? lines.of}${number}${lines.threshold ? "t" : ""}`;
    const kept = this.kept.get(key);
    if (kept !== undefined) return kept;
    const looks = lines.of === "flow" ? this.looks.flows : this.looks.queues;
    const several = lines.of !== "class" && this.names[lines.of].length > 1;
    const own = looks[number % looks.length]!;
    const look = lines.look === undefined || several ? { ...own, ...(lines.look ? { marker: lines.look.marker } : {}) } : lines.look;
    const name = this.nameOf(lines.of, number);
    const label = lines.kind === undefined ? name : several ? `${lines.kind} (${name})` : lines.kind;
    const meta: SeriesMeta = {
      key,
      label,
      ...look,
      flow: lines.of === "flow" ? number : null,
      gap: null,
      step: lines.step,
      marked: true,
      columns: {},
    };
    const line = new Line(number, meta, lines);
    this.kept.set(key, line);
    return line;
  }

  private nameOf(of: Lines["of"], number: number): string {
    if (of !== "class") return this.names[of][number] ?? `${of} ${number}`;
    const [queue, own] = [Math.floor(number / CLASSES), number % CLASSES];
    const name = this.names.class[queue]?.[own] ?? `class ${own}`;
    return this.names.queue.length > 1 ? `${name} (${this.names.queue[queue]})` : name;
  }

  /** Where a queue has classes, one cloud of dots would show none of them: lines, then, for all. */
  private get byClass(): boolean {
    return [...this.kept.values()].some((line) => line.lines.of === "class" && line.hasValues);
  }

  /** What is drawn now. A line that never had a value is not there. */
  get data(): PanelData {
    const { byClass } = this;
    const of = (threshold: boolean) =>
      [...this.kept.values()]
        .filter((line) => line.lines.threshold === threshold && line.hasValues && !(byClass && line.lines.of === "queue"))
        .sort((a, b) => a.number - b.number)
        .map((line) => line.series);
    return { series: of(false), thresholds: of(true), ticks: [] };
  }

  /** What the panel is called, with the lines that it has now. */
  get meta(): PanelMeta {
    const { series, thresholds } = this.data;
    const lines = { series: series.map((s) => s.meta), thresholds: thresholds.map((s) => s.meta) };
    return { ...this.panel.meta, ...(this.byClass ? { kind: "line" as const, flag: null } : {}), ...lines };
  }
}
