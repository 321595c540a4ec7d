// What the Python side writes into the page: a JSON description of panels and series, and one base64
// block of little-endian columns that it points into. Columns are viewed, not copied: a million points
// cost one base64 decoding.

export type ColumnType = "f32" | "f64" | "u8" | "u16" | "u32";

export interface ColumnRef {
  /** Offset of the first byte; a multiple of 8, so that every typed view is aligned. */
  readonly at: number;
  readonly n: number;
  readonly type: ColumnType;
  /** Of scaled numbers: the least one, and the size of a step. */
  readonly from?: number;
  readonly step?: number;
}

export interface SeriesMeta {
  readonly key: string;
  readonly label: string;
  /** Name of a palette entry, the `--c-<colour>` property of the style sheet. */
  readonly colour: string;
  readonly marker: MarkerShape;
  readonly dash: readonly number[];
  /** Index of the flow that the series belongs to, so that a flow can be switched in all panels. */
  readonly flow: number | null;
  /** A line is broken where two samples are farther apart than this, in seconds. */
  readonly gap: number | null;
  /** Whether a sample is the mean since the one before it, or holds until the next one: either way the line goes in steps. */
  readonly step: "mean" | "hold" | "";
  /** Whether its flagged samples are marked. */
  readonly marked: boolean;
  /** Whether its range is an interval at each sample, and not the range of samples since the one before. */
  readonly interval?: boolean;
  readonly columns: Readonly<Record<string, ColumnRef>>;
}

export interface FlagMeta {
  readonly label: string;
  /** Null: the colour of each series. */
  readonly colour: string | null;
  readonly marker: MarkerShape;
}

/** A flow's retransmissions, drawn as ticks in a row of their own above the panel's lines. */
export interface TicksMeta {
  /** The colour of the flow's series. */
  readonly key: string;
  readonly label: string;
  readonly colour: string;
  readonly flow: number;
  /** From the top; flows of one look share theirs. */
  readonly row: number;
  /** Whether some of them are timeouts. */
  readonly timeouts: boolean;
  readonly columns: Readonly<Record<string, ColumnRef>>;
}

/** The horizontal axis. Panels over time share one visible range; others have their own. */
export interface AbscissaMeta {
  readonly label: string;
  readonly unit: string;
  readonly time: boolean;
  readonly log: boolean;
}

/** One of several things that a panel can show. */
export interface ChoiceMeta {
  readonly name: string;
  readonly unit: string;
  readonly log: boolean;
  readonly x: AbscissaMeta;
  readonly series: readonly SeriesMeta[];
}

export interface PanelMeta {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  /** The abscissas of a path go back and forth. */
  readonly kind: "line" | "points" | "path";
  readonly x: AbscissaMeta;
  readonly log: boolean;
  readonly flag: FlagMeta | null;
  readonly series: readonly SeriesMeta[];
  /** Lines that go with the series of the same flow, thin and dashed; one switch is for all. */
  readonly thresholds: readonly SeriesMeta[];
  /** What the thresholds are. */
  readonly threshold: string;
  readonly ticks: readonly TicksMeta[];
  /** What the reader can choose to see instead, the first being what is shown; empty in most panels. */
  readonly choices: readonly ChoiceMeta[];
  /** Seconds over which series of means may be averaged (0: not at all), and the default. */
  readonly averages: readonly number[];
  readonly average: number;
  /** When something changed, in seconds, and what. */
  readonly changes?: readonly (readonly [number, string])[];
  /** Why there is nothing to draw; empty if there is something. */
  readonly empty: string;
  /** What a reader must know to read it. */
  readonly note: string;
  /** Whether the page shows it before it is asked for. */
  readonly shown: boolean;
  /** What the values are, where the title says something else. */
  readonly quantity?: string;
  /** What its value axis has to hold besides, so that it is that of its neighbours. */
  readonly within?: readonly [number, number];
}

/** A switch for some flows in all panels. */
export interface SwitchMeta {
  readonly label: string;
  readonly colour: string;
  readonly marker: MarkerShape;
  readonly flows: readonly number[];
}

export interface PageMeta {
  readonly from: number;
  readonly to: number;
  /** Names of the flows. */
  readonly flows: readonly string[];
  /** One for each flow, or for each group where flows are very many. */
  readonly switches: readonly SwitchMeta[];
  readonly panels: readonly PanelMeta[];
}

export type MarkerShape = "circle" | "square" | "triangle" | "diamond" | "down" | "plus" | "cross" | "tick";

export interface Series {
  readonly meta: SeriesMeta;
  /** Seconds, ascending; on a logarithmic axis the logarithms of its values; of a path in any order. */
  readonly t: Float64Array;
  readonly v: Float32Array;
  /** 1 where the panel's flag holds (queue emptied, cwnd-limited). */
  readonly flag: Uint8Array | null;
  /** Index of the flow of each point, where a series mixes flows. */
  readonly who: Uint16Array | null;
  readonly low: Float32Array | null;
  readonly high: Float32Array | null;
}

export interface Ticks {
  readonly meta: TicksMeta;
  /** Ends of the recording intervals in which something was sent again or a timer expired, in seconds, ascending. */
  readonly t: Float64Array;
  /** The number of segments sent again in each. */
  readonly retransmits: Uint16Array;
  /** The number of retransmission timeouts in each. */
  readonly rtos: Uint16Array;
}

/** Base64 to bytes; the browser's own decoder where it has one. */
export function decodeBase64(text: string): ArrayBuffer {
  const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native !== undefined) {
    return native.call(Uint8Array, text).buffer;
  }
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) {
    bytes[i] = binary.charCodeAt(i);
  }
  return bytes.buffer;
}

function view(buffer: ArrayBuffer, ref: ColumnRef | undefined, type: ColumnType) {
  if (ref === undefined) {
    return null;
  }
  if (ref.type !== type) {
    throw new Error(`column of type ${ref.type} where ${type} belongs`);
  }
  switch (type) {
    case "f32":
      return new Float32Array(buffer, ref.at, ref.n);
    case "f64":
      return new Float64Array(buffer, ref.at, ref.n);
    case "u32":
      return new Uint32Array(buffer, ref.at, ref.n);
    case "u16":
      return new Uint16Array(buffer, ref.at, ref.n);
    case "u8":
      return new Uint8Array(buffer, ref.at, ref.n);
  }
}

/** A column of whatever type. */
export function column(buffer: ArrayBuffer, ref: ColumnRef): ArrayLike<number> {
  return view(buffer, ref, ref.type)!;
}

/** Numbers that are stored as steps from the least one. */
function scaled(buffer: ArrayBuffer, ref: ColumnRef | undefined): Float64Array | null {
  const steps = view(buffer, ref, "u32") as Uint32Array | null;
  if (steps === null || ref === undefined) return null;
  const { from = 0, step = 1 } = ref;
  return Float64Array.from(steps, (n) => from + n * step);
}

export function readSeries(buffer: ArrayBuffer, meta: SeriesMeta, log = false): Series {
  const c = meta.columns;
  let t = scaled(buffer, c["t"]);
  if (log && t !== null) t = t.map(Math.log10);
  const v = view(buffer, c["v"], "f32") as Float32Array | null;
  if (t === null || v === null) {
    throw new Error(`series ${meta.key} lacks its time or value column`);
  }
  return {
    meta,
    t,
    v,
    flag: view(buffer, c["flag"], "u8") as Uint8Array | null,
    who: view(buffer, c["who"], "u16") as Uint16Array | null,
    low: view(buffer, c["low"], "f32") as Float32Array | null,
    high: view(buffer, c["high"], "f32") as Float32Array | null,
  };
}

export function readTicks(buffer: ArrayBuffer, meta: TicksMeta): Ticks {
  const c = meta.columns;
  const t = scaled(buffer, c["t"]);
  const retransmits = view(buffer, c["retransmits"], "u16") as Uint16Array | null;
  const rtos = view(buffer, c["rtos"], "u16") as Uint16Array | null;
  if (t === null || retransmits === null || rtos === null) {
    throw new Error(`the ticks of ${meta.label} lack a column`);
  }
  return { meta, t, retransmits, rtos };
}

/** Everything that one panel draws. */
export interface PanelData {
  readonly series: readonly Series[];
  readonly thresholds: readonly Series[];
  readonly ticks: readonly Ticks[];
}

export function readPanel(buffer: ArrayBuffer, meta: PanelMeta): PanelData {
  return {
    series: meta.series.map((s) => readSeries(buffer, s, meta.x.log)),
    thresholds: meta.thresholds.map((s) => readSeries(buffer, s)),
    ticks: meta.ticks.map((x) => readTicks(buffer, x)),
  };
}
