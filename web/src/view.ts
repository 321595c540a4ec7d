// The view of a page in its address, so that a link shows what its sender saw: the visible time, which panels are shown,
// what is switched off in them, their scales and averages, and what was chosen of several things.

/** What a panel shows that it does not show by itself. */
export interface PanelView {
  /** Keys of series that are off. */
  readonly off?: readonly string[];
  readonly log?: boolean;
  readonly average?: number;
  readonly choice?: number;
}

export interface View {
  readonly from?: number;
  readonly to?: number;
  /** Whether value axes start at 0; by default they do. */
  readonly zero?: boolean;
  /** The panels that are shown, if they are not the usual ones. */
  readonly panels?: readonly string[];
  readonly of: Readonly<Record<string, PanelView>>;
}

/** The address's part behind "#". Empty for the usual view. */
export function writeView(view: View): string {
  const out = new URLSearchParams();
  if (view.from !== undefined) out.set("from", String(view.from));
  if (view.to !== undefined) out.set("to", String(view.to));
  if (view.zero === false) out.set("zero", "0");
  if (view.panels !== undefined) out.set("panels", view.panels.join(","));
  for (const [id, panel] of Object.entries(view.of)) {
    if (panel.off !== undefined && panel.off.length > 0) out.set(`${id}.off`, panel.off.join(","));
    if (panel.log !== undefined) out.set(`${id}.log`, panel.log ? "1" : "0");
    if (panel.average !== undefined) out.set(`${id}.mean`, String(panel.average));
    if (panel.choice !== undefined) out.set(`${id}.choice`, String(panel.choice));
  }
  return out.toString().replaceAll("%2C", ",");
}

function number(text: string | null): number | undefined {
  if (text === null || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** A view from an address; what cannot be read is left out. */
export function readView(hash: string): View {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const of: Record<string, PanelView> = {};
  for (const key of query.keys()) {
    const id = key.split(".")[0]!;
    if (!key.includes(".") || id in of) continue;
    const off = query.get(`${id}.off`);
    const log = query.get(`${id}.log`);
    const [average, choice] = [number(query.get(`${id}.mean`)), number(query.get(`${id}.choice`))];
    of[id] = {
      ...(off === null ? {} : { off: off.split(",").filter((k) => k !== "") }),
      ...(log === null ? {} : { log: log === "1" }),
      ...(average === undefined ? {} : { average }),
      ...(choice === undefined ? {} : { choice }),
    };
  }
  const [from, to] = [number(query.get("from")), number(query.get("to"))];
  const panels = query.get("panels");
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(query.get("zero") === "0" ? { zero: false } : {}),
    ...(panels === null ? {} : { panels: panels.split(",").filter((k) => k !== "") }),
    of,
  };
}
