// What the page asks of the run, and what it gets (crates/lab/src/desk.rs). Times are in nanoseconds.

/** A change that a control makes; quantities are texts with their units. */
export type Edit =
  | { readonly what: "rate" | "limit" | "loss"; readonly link: string; readonly value: string }
  | { readonly what: "rtt"; readonly link: string; readonly value: string }
  | { readonly what: "queue"; readonly link: string; readonly kind: string }
  | { readonly what: "controller"; readonly flow: number; readonly kind: string }
  | { readonly what: "add-flow"; readonly like: number }
  | { readonly what: "stop-flow"; readonly flow: number };

export type Files = Readonly<Record<string, string>>;

export type Question =
  | { readonly ask: "open"; readonly text: string; readonly files: Files; readonly packets: boolean }
  | { readonly ask: "advance"; readonly until: number; readonly events: number }
  | { readonly ask: "step" }
  | { readonly ask: "edit"; readonly at: number; readonly edit: Edit }
  | { readonly ask: "summary" }
  | { readonly ask: "resolve" }
  | { readonly ask: "kinds" };

export interface Fault {
  readonly message: string;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly key?: string | null;
}

/** A scenario with every default, as far as the page reads it. */
export interface LinkSettings {
  readonly name?: string;
  readonly rate?: string | { readonly trace: string };
  readonly delay?: string;
  readonly queue?: { readonly kind: string; readonly limit?: string };
  readonly impair?: unknown;
}

export interface FlowSettings {
  readonly name: string;
  readonly cc?: string | { readonly kind: string; readonly response?: string };
  readonly rtt?: string;
  readonly start?: string;
  readonly stop?: string;
  readonly count?: number;
}

export interface Settings {
  readonly title?: string;
  readonly duration: string;
  readonly bottleneck?: LinkSettings;
  readonly link?: readonly LinkSettings[];
  readonly flow: readonly FlowSettings[];
}

export interface About {
  readonly scenario: Settings;
  /** In the order of their numbers in tables. */
  readonly flows: readonly { readonly name: string; readonly cc: string }[];
  readonly queues: readonly string[];
  /** By queue. */
  readonly classes: readonly (readonly string[])[];
  readonly duration_ns: number;
}

/** The rows of a table since the answer before. */
export interface NewRows {
  readonly rows: number;
  readonly columns: Readonly<Record<string, Float64Array>>;
}

export interface Progress {
  readonly now_ns: number;
  readonly reached: boolean;
  readonly ended: boolean;
  readonly tables: Readonly<Record<string, NewRows>>;
}

interface WrittenRows {
  readonly rows: number;
  readonly columns: Readonly<Record<string, number>>;
}

/** Reads an answer: the length of its JSON, the JSON, and columns of numbers behind it, at a multiple of eight bytes. */
export function readAnswer(bytes: ArrayBuffer): Readonly<Record<string, unknown>> {
  const length = new DataView(bytes).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as Record<string, unknown>;
  const tables = json["tables"] as Record<string, WrittenRows> | undefined;
  if (tables === undefined) return json;
  const first = Math.ceil((4 + length) / 8) * 8;
  const read = ({ rows, columns }: WrittenRows): NewRows => ({
    rows,
    columns: Object.fromEntries(Object.entries(columns).map(([name, at]) => [name, new Float64Array(bytes, first + at, rows)])),
  });
  return { ...json, tables: Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, read(table)])) };
}
