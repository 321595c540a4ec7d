// What the Python side writes into the page: a JSON description of panels and series, and one base64
// block of little-endian columns that it points into. Columns are viewed, not copied: a million points
// cost one base64 decoding.

export type ColumnType = "f64" | "f32" | "u8" | "u16";

export interface ColumnRef {
  /** Offset of the first byte; a multiple of 8, so that every typed view is aligned. */
  readonly at: number;
  readonly n: number;
  readonly type: ColumnType;
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
  readonly columns: Readonly<Record<string, ColumnRef>>;
}

export interface FlagMeta {
  readonly label: string;
  readonly colour: string;
  readonly marker: MarkerShape;
}

export interface PanelMeta {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly kind: "line" | "points";
  readonly log: boolean;
  readonly flag: FlagMeta | null;
  readonly series: readonly SeriesMeta[];
}

export interface PageMeta {
  readonly from: number;
  readonly to: number;
  readonly flows: readonly { readonly name: string; readonly colour: string; readonly marker: MarkerShape }[];
  readonly panels: readonly PanelMeta[];
}

export type MarkerShape = "circle" | "square" | "triangle" | "diamond" | "down" | "plus" | "cross";

export interface Series {
  readonly meta: SeriesMeta;
  /** Seconds, ascending. */
  readonly t: Float64Array;
  readonly v: Float32Array;
  /** 1 where the panel's flag holds (queue emptied, cwnd-limited). */
  readonly flag: Uint8Array | null;
  /** Index of the flow of each point, where a series mixes flows. */
  readonly who: Uint16Array | null;
  readonly low: Float32Array | null;
  readonly high: Float32Array | null;
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
    case "f64":
      return new Float64Array(buffer, ref.at, ref.n);
    case "f32":
      return new Float32Array(buffer, ref.at, ref.n);
    case "u16":
      return new Uint16Array(buffer, ref.at, ref.n);
    case "u8":
      return new Uint8Array(buffer, ref.at, ref.n);
  }
}

export function readSeries(buffer: ArrayBuffer, meta: SeriesMeta): Series {
  const c = meta.columns;
  const t = view(buffer, c["t"], "f64") as Float64Array | null;
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
